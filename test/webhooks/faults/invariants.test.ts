import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { appendAudit } from '../../../src/events/append.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { sweepLanes } from '../../../src/webhooks/tasks.ts'
import { updateWebhook } from '../../../src/webhooks/update-webhook.ts'
import { randomRuns } from '../../support/random-runs.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { countBrokenLanes } from '../lanes/broken-lanes.ts'
import { type Harness, createHarness } from '../harness.ts'
import { type Received, type Receiver, allValid, signaturesOf, startReceiver, status } from '../receiver.ts'

const RUNS = randomRuns(5)
let clock: TestClock
let harness: Harness
beforeAll(async () => {
  clock = createTestClock()
  harness = await createHarness(clock)
})
afterAll(() => harness.close())

const secret = 'invariant'
const messagesOf = ({ events }: Received) => events.map(({ message }) => String(message))

/** Returns the stored events of a webhook, by the bodies of its messages. */
async function storedEvents(webhookId: string, table: 'webhook_message' | 'webhook_parked_message'): Promise<string[]> {
  const { rows } = await sql<{ body: Buffer }>`
    select body from ${sql.table(table)} where webhook_id = ${webhookId} and topic = 'audits'
  `.execute(harness.ctx.db)
  return rows.flatMap(({ body }) =>
    JSON.parse(body.toString()).events.map((event: { message: string }) => event.message),
  )
}

/** Moves the clock on until nothing waits. */
async function drain(): Promise<void> {
  await waitUntil('everything delivered', async () => {
    clock.advance(60_000)
    harness.wake()
    const outbox = await harness.ctx.db.selectFrom('webhookOutbox').select('id').execute()
    return outbox.length === 0 && (await harness.waiting()).messages === 0
  })
}

type Step =
  | 'commit'
  | 'commit of the site'
  | 'roll back'
  | 'fail'
  | 'throttle'
  | 'answer'
  | 'advance'
  | 'disable'
  | 'restart'
  | 'move'
  | 'rotate'
const steps: readonly Step[] = [
  'commit',
  'commit of the site',
  'roll back',
  'fail',
  'throttle',
  'answer',
  'advance',
  'disable',
  'restart',
  'move',
  'rotate',
]
const options = fc.record(
  { order: fc.constantFrom('webhook', 'device'), rate_limit: fc.constant({ messages: 100, per: 'second' }) },
  { requiredKeys: [] },
)

it('whatever happens, each committed event reaches each webhook of its place, signed and the same each time', async () => {
  const siteId = await harness.addSite('Depot')
  const other = await harness.addOrg()
  const receivers: Receiver[] = []
  const script = fc.array(fc.constantFrom(...steps), { minLength: 10, maxLength: 25, size: 'max' })
  await fc.assert(
    fc.asyncProperty(script, options, async (script, more) => {
      const [ofOrg, ofSite, foreign] = [await startReceiver(), await startReceiver(), await startReceiver()]
      receivers.push(ofOrg, ofSite, foreign)
      const hook = (url: string) => ({ url, topics: ['audits'], secret, single_event_per_message: true, ...more })
      const { id: orgHook } = await harness.addWebhook(hook(ofOrg.url))
      const { id: siteHook } = await harness.addWebhook(hook(ofSite.url), siteId)
      await harness.addWebhook(hook(foreign.url), null, other)
      const change = (body: Record<string, unknown>) =>
        updateWebhook(harness.ctx, harness.scope, { id: orgHook, body, outbound: harness.outbound })
      const secrets = [secret]
      let workers = await harness.start()
      const committed = { org: [] as string[], site: [] as string[], all: [] as string[] }
      let count = 0
      for (const step of script) {
        const message = `event ${(count += 1)}`
        if (step.startsWith('commit')) committed.all.push(message)
        if (step === 'commit') committed.org.push(message)
        if (step === 'commit of the site') committed.site.push(message)
        if (step === 'commit') await harness.audit(message)
        if (step === 'commit of the site') await harness.audit(message, siteId)
        if (step === 'roll back')
          await inTx(harness.ctx, async (tx) => {
            await appendAudit(tx, harness.scope, { message: 'never', at: clock.now() })
            throw new Error('rolled back')
          }).catch(() => undefined)
        if (step === 'fail') for (const receiver of [ofOrg, ofSite]) receiver.answer(status(500))
        if (step === 'throttle') ofOrg.answer(status(429, { 'Retry-After': '30' }))
        if (step === 'answer') for (const receiver of [ofOrg, ofSite]) receiver.answer(status(200))
        if (step === 'advance') clock.advance(45_000)
        if (step === 'move') await change({ url: `${ofOrg.url}/${count}` })
        if (step === 'rotate') {
          secrets.unshift(`${secret} ${count}`)
          await change({ secret: secrets[0], secret_overlap_s: 0 })
        }
        if (step === 'disable') {
          // It is disabled only after everything has been routed: a disabled webhook gets no events.
          await waitUntil('routed', async () => {
            // By the rate limit, an event may wait for its turn.
            clock.advance(100)
            harness.wake()
            const rows = await harness.ctx.db.selectFrom('webhookOutbox').select('id').execute()
            return rows.length === 0
          })
          for (const enabled of [false, true]) await change({ enabled })
        }
        if (step === 'restart') {
          await workers.stop()
          // No process starts in the millisecond in which another one has ended. Messages of one millisecond have the order of their ids,
          // and one that the former run may have sent keeps the older id of its event.
          clock.advance(1)
          workers = await harness.start()
        }
        harness.wake()
        // Between any two transactions, no message is in two places, or in none that is served.
        expect(await countBrokenLanes(harness)).toBe(0)
      }
      for (const receiver of [ofOrg, ofSite]) receiver.answer(status(200))
      await drain()
      await workers.stop()
      const got = ({ received }: Receiver) => [...new Set(received.flatMap(messagesOf))]
      const inOrder = (receiver: Receiver) => got(receiver).filter((message) => message.startsWith('event'))
      const ours = (receiver: Receiver) => inOrder(receiver).toSorted()
      expect(ours(ofOrg)).toEqual([...committed.org, ...committed.site].toSorted())
      expect(ours(ofSite)).toEqual(committed.site.toSorted())
      if (more.order === 'webhook') expect([inOrder(ofOrg), inOrder(ofSite)]).toEqual([committed.all, committed.site])
      expect(got(foreign)).toEqual([])
      expect([...got(ofOrg), ...got(ofSite)]).not.toContain('never')
      for (const id of [orgHook, siteHook])
        for (const table of ['webhook_message', 'webhook_parked_message'] as const)
          expect(await storedEvents(id, table)).toEqual([])
      for (const receiver of [ofOrg, ofSite]) {
        // Each has the signatures of one of the secrets, and the site's webhook has a single one.
        for (const message of receiver.received)
          expect(secrets.map((known) => signaturesOf(message, known))).toContainEqual(allValid)
        const byId = Map.groupBy(receiver.received, ({ headers }) => headers['webhook-id'])
        for (const same of byId.values()) expect(new Set(same.map(({ raw }) => raw.toString())).size).toBe(1)
        for (const message of receiver.received) expect(message.topic).toBe('audits')
      }
      // An accepted message is not sent again.
      const { rows } = await sql<{ taken: number }>`
        select count(*)::int as taken from webhook_delivery where status = 'success' group by message_id having count(*) > 1
      `.execute(harness.ctx.db)
      expect(rows).toEqual([])
      expect([await countBrokenLanes(harness), await sweepLanes(harness.ctx)]).toEqual([0, 0])
      await harness.ctx.db.deleteFrom('webhook').execute()
      for (const receiver of receivers.splice(0)) await receiver.kill()
    }),
    { numRuns: RUNS, endOnFailure: true },
  )
})

it('a receiver that was down for an hour gets everything once it is back', async () => {
  const down = await startReceiver()
  await harness.addWebhook({ url: down.url, topics: ['audits'], secret })
  await down.kill()
  const workers = await harness.start()
  const sent = Array.from({ length: 12 }, (_, place) => `minute ${place * 5}`)
  for (const message of sent) {
    await harness.audit(message)
    clock.advance(5 * 60_000)
    harness.wake()
  }
  await waitUntil('an attempt failed', async () =>
    (await harness.deliveries()).some(({ status: of }) => of === 'failure'),
  )
  const back = await startReceiver(down.port)
  await drain()
  const got = new Set(back.received.flatMap(messagesOf))
  expect([...got].toSorted()).toEqual(sent.toSorted())
  for (const message of back.received) expect(signaturesOf(message, secret)).toEqual(allValid)
  await workers.stop()
  await back.kill()
})
