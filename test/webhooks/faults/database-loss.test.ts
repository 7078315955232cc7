import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../../src/platform/embedded-postgres/embedded-postgres.ts'
import { createLog } from '../../../src/platform/log.ts'
import { copyPreparedData } from '../../support/database/prepared-data.ts'
import { startServerProcess } from '../../support/servers/server-process.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { bootstrap } from '../bootstrap.ts'
import { type Received, type Receiver, allValid, signaturesOf, startReceiver } from '../receiver.ts'

const secret = 'survives'
/** The first two lanes send one message at a time. */
const LANES = 6
const ORDERED = 2
/** The greatest number of messages of a lane that are in flight or have an unwritten result. */
const MAX_UNDECIDED = 32
const ANSWER_AFTER_MS = 10
const FAILED_PAUSE_MS = 50

let remove: () => Promise<void>
let dataDir: string
let database: EmbeddedPostgres
let receiver: Receiver
const startDatabase = () => startEmbeddedPostgres({ dataDir, log: createLog('fatal'), durable: false })
beforeEach(async () => {
  dataDir = await temporaryDir((end) => (remove = end))
  await copyPreparedData(dataDir)
  database = await startDatabase()
  receiver = await startReceiver()
  receiver.answer((_request, response) => void setTimeout(() => response.writeHead(200).end(), ANSWER_AFTER_MS))
}, 60_000)
afterEach(async () => {
  await receiver.kill()
  await database.stop()
  await remove()
})

interface Service {
  /** Creates sites one after the other, until it is stopped. Each is an event of each webhook. */
  publish(): { stop(): Promise<void> }
  /** The names of the sites that exist, in the order of their creation. */
  committed(): Promise<readonly string[]>
  /** The number of failed requests. */
  readonly failed: () => number
}

async function startService(): Promise<Service> {
  const { host, port, user, database: name } = database.connection
  const server = await startServerProcess({
    dataDir,
    env: {
      SIGNALBOX_DATABASE_URL: `postgresql://${user}@localhost:${port}/${name}?host=${encodeURIComponent(host)}`,
      SIGNALBOX_LOG_LEVEL: 'fatal',
      SIGNALBOX_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
    },
  })
  const made = await bootstrap(server.url, dataDir)
  const headers = { authorization: `Token ${made.api_token}`, 'content-type': 'application/json' }
  const path = `${server.url}/api/v1/orgs/${made.org_id}`
  const post = async (to: string, body: unknown): Promise<boolean> => {
    const answer = await fetch(path + to, { method: 'POST', headers, body: JSON.stringify(body) }).catch(() => null)
    await answer?.arrayBuffer()
    return answer?.status === 200
  }
  for (let lane = 0; lane < LANES; lane += 1) {
    const order = lane < ORDERED ? { order: 'webhook' } : {}
    const webhook = { url: `${receiver.url}/${lane}`, topics: ['audits'], secret, single_event_per_message: true }
    expect(await post('/webhooks', { ...webhook, ...order })).toBe(true)
  }
  const stopping = new AbortController()
  let [count, failed] = [0, 0]
  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const isMade = await post('/sites', { name: `site ${String(count).padStart(5, '0')}` })
      count += 1
      if (isMade) continue
      failed += 1
      await delay(FAILED_PAUSE_MS)
    }
  }
  return {
    publish() {
      const running = run()
      return {
        stop() {
          stopping.abort()
          return running
        },
      }
    },
    failed: () => failed,
    async committed() {
      const client = new pg.Client(database.connection)
      await client.connect()
      try {
        const { rows } = await client.query<{ message: string }>(
          "select message from audit_log where org_id = $1 and message like 'Add Site %' order by message",
          [made.org_id],
        )
        return rows.map(({ message }) => message)
      } finally {
        await client.end()
      }
    },
  }
}

/** The sites of which a webhook has learned. */
function sitesOf(messages: readonly Received[]): string[] {
  const names = messages.flatMap(({ events }) => events.map(({ message }) => String(message)))
  return [...new Set(names.filter((name) => name.startsWith('Add Site ')))]
}

const lanesInOrder = new Set(Array.from({ length: ORDERED }, (_, lane) => `/hook/${lane}`))
const laneOf = ({ path }: { readonly path: string }): string => path

/** Publishes while `disturb` runs, and expects that every webhook gets everything, at most some of it twice. */
async function expectLossless(disturb: (service: Service) => Promise<number>): Promise<void> {
  const service = await startService()
  const publisher = service.publish()
  const disturbances = await disturb(service)
  const before = receiver.received.length
  await waitUntil('deliveries continue', () => receiver.received.length >= before + 100, 120_000)
  await publisher.stop()
  const committed = await service.committed()
  const byLane = () => Map.groupBy(receiver.received, laneOf)
  await waitUntil(
    'everything delivered',
    () => [...byLane().values()].filter((of) => sitesOf(of).length === committed.length).length === LANES,
    120_000,
  )
  for (const [lane, messages] of byLane()) {
    const isOrdered = lanesInOrder.has(lane)
    // A site is created after the answer to the request before it, so their names are in the order of the commits.
    expect(isOrdered ? sitesOf(messages) : sitesOf(messages).toSorted(), lane).toEqual(committed)
  }
  const ids = Map.groupBy(receiver.received, ({ path, headers }) => `${path} ${String(headers['webhook-id'])}`)
  expect(receiver.received.length - ids.size).toBeLessThanOrEqual(disturbances * LANES * MAX_UNDECIDED)
  for (const same of ids.values()) expect(new Set(same.map(({ raw }) => raw.toString())).size).toBe(1)
  for (const message of receiver.received) expect(signaturesOf(message, secret)).toEqual(allValid)
}

it('loses nothing when its connections are terminated under load', async () => {
  const kills = 5
  await expectLossless(async () => {
    const operator = new pg.Client({ ...database.connection, user: 'postgres' })
    await operator.connect()
    try {
      for (let kill = 1; kill <= kills; kill += 1) {
        const before = receiver.received.length
        await waitUntil('deliveries under way', () => receiver.received.length >= before + 150, 120_000)
        const { rowCount } = await operator.query(`
          select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`)
        expect(rowCount).toBeGreaterThan(3)
      }
    } finally {
      await operator.end()
    }
    return kills
  })
}, 400_000)

it('loses nothing when the database is stopped and started under load', async () => {
  const stops = 2
  await expectLossless(async ({ failed }) => {
    for (let stop = 1; stop <= stops; stop += 1) {
      const before = receiver.received.length
      await waitUntil('deliveries under way', () => receiver.received.length >= before + 150, 120_000)
      const failedBefore = failed()
      await database.stop()
      await waitUntil('requests fail', () => failed() > failedBefore)
      database = await startDatabase()
    }
    return stops
  })
}, 400_000)
