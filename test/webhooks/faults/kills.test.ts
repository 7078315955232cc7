import pg from 'pg'
import { beforeEach, expect, it } from 'vitest'
import type { Context } from '../../../src/platform/context.ts'
import { openDb } from '../../../src/platform/database/db.ts'
import { endPool } from '../../../src/platform/database/connections/end-pool.ts'
import { openPool } from '../../../src/platform/database/connections/pools.ts'
import { startWebhookWorkers } from '../../../src/webhooks/workers.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { countBrokenLanes } from '../lanes/broken-lanes.ts'
import { addBacklog } from '../add-backlog.ts'
import { startEngine } from '../engine.ts'
import type { Harness } from '../harness.ts'
import type { Receiver } from '../receiver.ts'

let harness: Harness
let receiver: Receiver
beforeEach(async () => {
  ;({ harness, receiver } = await startEngine(createTestClock()))
})

interface Killable {
  readonly ctx: Context
  /** From now on, so many statements are executed less one; before the last one it is killed. */
  killBefore(statement: number): void
  readonly isDead: () => boolean
  close(): Promise<void>
}

/** A statement that the driver gets as an object learns of its end by calls instead of a promise. */
function isSubmittable(argument: unknown): argument is { handleError(error: Error): void } {
  return argument instanceof pg.Query
}

/** A context with connections of its own, which all break before a given statement, like those of a process that is killed. */
function killable(): Killable {
  const { ctx, connection } = harness
  const clients = new Set<pg.Client>()
  let statements = 0
  let last = Infinity
  const isDead = (): boolean => statements >= last
  const pool = openPool(connection, () => {})
  pool.on('connect', (client) => {
    clients.add(client)
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    Object.assign(client, {
      query(...args: unknown[]) {
        statements += 1
        if (!isDead()) return query(...args)
        for (const each of clients) each.end().catch(() => {})
        clients.clear()
        const error = new Error('killed')
        const [statement] = args
        if (!isSubmittable(statement)) return Promise.reject(error)
        process.nextTick(() => statement.handleError(error))
        return statement
      },
    })
  })
  const db = openDb(pool, ctx.secrets)
  return {
    ctx: { ...ctx, db, hotDb: db, keyDb: db, claimDb: db, queueDb: db },
    killBefore(statement) {
      last = statements + statement
    },
    isDead,
    close: () => endPool(pool),
  }
}

interface Losing {
  readonly ctx: Context
  /** From now on, the answer to so many statements less one arrives, and the next one is lost. */
  loseAnswer(statement: number): void
  readonly isLost: () => boolean
}

/** A context that executes all of its statements, and loses the answer to one: its outcome is unknown. */
function losingAnswers(): Losing {
  let answers = 0
  let lost = Infinity
  const { ctx } = harness
  const db = ctx.db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: ({ result }) => {
      answers += 1
      return answers === lost ? Promise.reject(new Error('Connection terminated')) : Promise.resolve(result)
    },
  })
  return {
    ctx: { ...ctx, db, hotDb: db, keyDb: db, claimDb: db, queueDb: db },
    loseAnswer(statement) {
      lost = answers + statement
    },
    isLost: () => answers >= lost,
  }
}

async function isDrained(): Promise<boolean> {
  const events = await harness.ctx.db.selectFrom('webhookOutbox').select('id').execute()
  return events.length === 0 && (await harness.waiting()).messages === 0
}

const received = () => new Set(receiver.received.flatMap(({ events }) => events.map(({ message }) => String(message))))

it('loses nothing when it is killed before any of its statements', async () => {
  await harness.addWebhook({ url: receiver.url, topics: ['audits'], single_event_per_message: true })
  const committed = new Set<string>()
  const stopped: Promise<void>[] = []
  let statement = 0
  for (let isDead = true; isDead;) {
    statement += 1
    const message = `event of round ${statement}`
    await harness.audit(message)
    committed.add(message)
    const killed = killable()
    killed.killBefore(statement)
    const workers = await startWebhookWorkers(killed.ctx, { outbound: harness.outbound }).catch(() => null)
    await waitUntil('killed, or done before', async () => killed.isDead() || (await isDrained()))
    isDead = killed.isDead()
    // A dead run takes some time to abandon what it can no longer write.
    stopped.push((workers?.stop() ?? Promise.resolve()).then(() => killed.close()))
    expect(await countBrokenLanes(harness)).toBe(0)
  }
  await Promise.all(stopped)
  expect(received()).toEqual(committed)
  expect(statement).toBeGreaterThan(5)
  const deliveries = await harness.deliveries()
  // A statement that was under way at a kill may still record deliveries that the next run repeats.
  const delivered = deliveries.filter(({ status }) => status === 'success').map(({ messageId }) => messageId)
  expect(new Set(delivered).size).toBe(committed.size)
}, 240_000)

it('loses nothing of a backlog, and repeats at most 32 events, when it is killed before any of its statements', async () => {
  const webhook = { url: receiver.url, topics: ['audits'], single_event_per_message: true, secret: 'backlog' }
  await harness.addWebhook(webhook)
  const committed: string[] = []
  const stopped: Promise<void>[] = []
  let statement = 0
  for (let isDead = true; isDead;) {
    statement += 1
    const killed = killable()
    const workers = await startWebhookWorkers(killed.ctx, { outbound: harness.outbound })
    // The lane is held from now on.
    const first = `first of round ${statement}`
    await harness.audit(first)
    await waitUntil('everything delivered', isDrained)
    killed.killBefore(statement)
    committed.push(first, ...(await addBacklog(harness, 100, `event of round ${statement}.`)))
    await waitUntil('killed, or done before', async () => killed.isDead() || (await isDrained()))
    isDead = killed.isDead()
    stopped.push(workers.stop().then(() => killed.close()))
    expect(await countBrokenLanes(harness)).toBe(0)
  }
  await Promise.all(stopped)
  expect(received()).toEqual(new Set(committed))
  expect(statement).toBeGreaterThan(4)
  // A kill repeats what was not decided, with the same id and bytes.
  expect(receiver.received.length - committed.length).toBeLessThanOrEqual(32 * (statement - 1))
  const byId = Map.groupBy(receiver.received, ({ headers }) => headers['webhook-id'])
  expect(byId.size).toBe(committed.length)
  for (const same of byId.values()) expect(new Set(same.map(({ raw }) => raw.toString())).size).toBe(1)
}, 240_000)

it('loses nothing and keeps the order when the answer to any of its statements is lost', async () => {
  const ordered = { topics: ['audits'], single_event_per_message: true, order: 'webhook' }
  await harness.addWebhook({ url: receiver.url, ...ordered })
  const committed: string[] = []
  let statement = 0
  for (let isLost = true; isLost;) {
    statement += 1
    const losing = losingAnswers()
    losing.loseAnswer(statement)
    const workers = await startWebhookWorkers(losing.ctx, { outbound: harness.outbound }).catch(() => null)
    for (const place of ['first', 'second', 'third']) {
      const message = `${place} of round ${statement}`
      await harness.audit(message)
      committed.push(message)
      // Later events are known while the outcome of a former statement is not.
      await waitUntil(
        'it arrives, or waits',
        async () => workers === null || received().has(message) || losing.isLost(),
      )
    }
    if (workers !== null) await waitUntil('everything delivered', isDrained)
    isLost = losing.isLost()
    await workers?.stop()
  }
  const last = await harness.start()
  await waitUntil('everything delivered', isDrained)
  await last.stop()
  expect([...received()]).toEqual(committed)
  expect(statement).toBeGreaterThan(5)
  expect(await countBrokenLanes(harness)).toBe(0)
  const deliveries = await harness.deliveries()
  expect(new Set(deliveries.map(({ status }) => status))).toEqual(new Set(['success']))
}, 300_000)

it('loses nothing of a backlog, and sends nothing twice, when the answer to any of its statements is lost', async () => {
  const webhook = { url: receiver.url, topics: ['audits'], single_event_per_message: true, secret: 'backlog' }
  await harness.addWebhook(webhook)
  const committed: string[] = []
  let statement = 0
  for (let isLost = true; isLost;) {
    statement += 1
    const losing = losingAnswers()
    const workers = await startWebhookWorkers(losing.ctx, { outbound: harness.outbound })
    // The lane is held from now on.
    const first = `first of round ${statement}`
    await harness.audit(first)
    await waitUntil('everything delivered', isDrained)
    losing.loseAnswer(statement)
    committed.push(first, ...(await addBacklog(harness, 300, `event of round ${statement}.`)))
    await waitUntil('everything delivered', isDrained)
    isLost = losing.isLost()
    await workers.stop()
    expect(await countBrokenLanes(harness)).toBe(0)
  }
  expect(statement).toBeGreaterThan(4)
  const messages = receiver.received.flatMap(({ events }) => events.map(({ message }) => String(message)))
  expect(messages.toSorted()).toEqual(committed.toSorted())
}, 240_000)

it('goes on after a restart of the database during a delivery', async () => {
  const { database } = harness.connection
  const operator = new pg.Client({ ...harness.connection, database: 'postgres' })
  await operator.connect()
  try {
    await harness.addWebhook({ url: receiver.url, topics: ['audits'], single_event_per_message: true })
    const held: (() => void)[] = []
    receiver.answer((_request, response) => void held.push(() => response.writeHead(200).end()))
    await harness.start()
    await harness.audit('before')
    harness.wake()
    await waitUntil('a delivery', () => held.length === 1)
    await operator.query(`alter database ${database} allow_connections false`)
    await operator.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [database])
    await waitUntil('the end of all connections', async () => {
      const { rowCount } = await operator.query('select from pg_stat_activity where datname = $1', [database])
      return rowCount === 0
    })
    await expect(harness.audit('never')).rejects.toThrow()
    receiver.answer((_request, response) => void response.writeHead(200).end())
    for (const answer of held) answer()
    await operator.query(`alter database ${database} allow_connections true`)
    await waitUntil('the database', () =>
      harness.audit('after').then(
        () => true,
        () => false,
      ),
    )
    harness.wake()
    await waitUntil('everything delivered', isDrained)
    expect(received()).toEqual(new Set(['before', 'after']))
    const deliveries = await harness.deliveries()
    expect(deliveries.filter(({ status }) => status === 'success')).toHaveLength(2)
    expect(await countBrokenLanes(harness)).toBe(0)
  } finally {
    await operator.end()
  }
}, 60_000)
