import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Caps, defaultCaps } from '../../../src/webhooks/delivery/admission/caps.ts'
import { deleteWebhook } from '../../../src/webhooks/delete-webhook.ts'
import { updateWebhook } from '../../../src/webhooks/update-webhook.ts'
import { randomRuns } from '../../support/random-runs.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { countBrokenLanes } from '../lanes/broken-lanes.ts'
import { type Harness, createHarness } from '../harness.ts'
import { type Received, startReceiver, status } from '../receiver.ts'
import { startBlockedHost, watchOutbound } from '../watched-outbound.ts'

const RUNS = randomRuns(2)
let clock: TestClock
let harness: Harness
beforeAll(async () => {
  clock = createTestClock()
  harness = await createHarness(clock)
})
afterAll(() => harness.close())

const secret = 'invariant'
const messagesOf = ({ events }: Received) => events.map(({ message }) => String(message))

/**
 * Few slots, so that one receiver that hangs uses up those for fresh requests. A busy machine may make any receiver slow, so
 * there are more slow slots than one lane can take.
 */
const caps: Caps = {
  ...defaultCaps,
  fresh: { total: 4, perOrg: 2 },
  late: { total: 4, perOrg: 2 },
  slow: { total: 24, perOrg: 12 },
  lateMs: 30,
  slowMs: 120,
}
/** How long after a disable or a delete the last request may start. */
const LAST_START_MS = 5000

type Trouble = 'commit' | 'hang' | 'answer' | 'redirect' | 'disable' | 'enable' | 'delete'
const troubles: readonly Trouble[] = ['commit', 'hang', 'answer', 'redirect', 'disable', 'enable', 'delete']

/** The times from which nothing of a webhook may start, to those when it was enabled again. */
interface Silence {
  readonly webhookId: string
  readonly from: Date
  until: Date | null
}

async function attemptsIn({ webhookId, from, until }: Silence): Promise<number> {
  const rows = await harness.ctx.db
    .selectFrom('webhookDelivery')
    .select('id')
    .where('webhookId', '=', webhookId)
    .where('createdAt', '>=', from)
    .where('createdAt', '<', until ?? new Date(8.64e15))
    .execute()
  return rows.length
}

it('whatever one receiver does, limits hold, no blocked address is called, and the others get everything', async () => {
  const other = await harness.addOrg()
  const blocked = await startBlockedHost()
  const script = fc.array(fc.constantFrom(...troubles), { minLength: 5, maxLength: 10 })
  await fc.assert(
    fc.asyncProperty(script, async (script) => {
      const [odd, near, far] = [await startReceiver(), await startReceiver(), await startReceiver()]
      const hook = (url: string) => ({ url, topics: ['audits'], secret, single_event_per_message: true })
      const { id: oddHook } = await harness.addWebhook(hook(odd.url))
      await harness.addWebhook(hook(near.url))
      await harness.addWebhook(hook(far.url), null, other)
      const { id: blockedHook } = await harness.addWebhook(hook(blocked.url))
      const outbound = watchOutbound()
      const workers = await harness.start({ outbound, caps, timeoutMs: 60_000 })
      const hung: (() => void)[] = []
      const release = () => {
        odd.answer(status(200))
        for (const finish of hung.splice(0)) finish()
      }
      const silences: Silence[] = []
      const lane = () =>
        harness.ctx.db.selectFrom('webhookLane').selectAll().where('webhookId', '=', oddHook).executeTakeFirst()
      const fallSilent = async () => {
        release()
        harness.wake()
        const isIdle = async () => outbound.inFlight(odd.url) === 0 && ((await lane())?.leaseUntil ?? null) === null
        await waitUntil('its lane is idle', isIdle)
        clock.advance(LAST_START_MS)
        silences.push({ webhookId: oddHook, from: clock.now(), until: null })
        clock.advance(1000)
      }
      const committed: string[] = []
      let [enabled, exists] = [true, true]
      for (const step of script) {
        if (step === 'commit') {
          for (const message of [`a${committed.length}`, `b${committed.length}`]) {
            committed.push(message)
            await harness.audit(message)
            await harness.audit(message, null, other)
          }
          // This also holds while the odd receiver hangs or is called again: no other one waits for it.
          for (const receiver of [near, far])
            await waitUntil('others have everything', () => {
              const got = new Set(receiver.received.flatMap(messagesOf))
              harness.wake()
              return committed.every((message) => got.has(message))
            })
        }
        if (step === 'hang') odd.answer((_request, response) => void hung.push(() => response.writeHead(200).end()))
        if (step === 'answer') release()
        if (step === 'redirect')
          odd.answer((_request, response) => void response.writeHead(302, { location: blocked.url }).end())
        const change = (body: Record<string, unknown>) =>
          updateWebhook(harness.ctx, harness.scope, { id: oddHook, body, outbound: harness.outbound })
        if (step === 'disable' && exists && enabled) {
          await change({ enabled: false })
          enabled = false
          await fallSilent()
        }
        if (step === 'enable' && exists && !enabled) {
          for (const silence of silences) silence.until ??= clock.now()
          await change({ enabled: true })
          enabled = true
        }
        if (step === 'delete' && exists) {
          await deleteWebhook(harness.ctx, harness.scope, oddHook)
          exists = false
          await fallSilent()
        }
        clock.advance(30_000)
        harness.wake()
        expect(await countBrokenLanes(harness)).toBe(0)
      }
      release()
      const attemptsAtBlocked = () =>
        harness.ctx.db
          .selectFrom('webhookDelivery')
          .select(['status', 'statusCode'])
          .where('webhookId', '=', blockedHook)
          .execute()
      if (committed.length > 0)
        await waitUntil('the blocked address was tried', async () => (await attemptsAtBlocked()).length > 0)
      await workers.stop()
      await outbound.close()
      for (const silence of silences) expect(await attemptsIn(silence)).toBe(0)
      expect(outbound.most.total).toBeLessThanOrEqual(caps.fresh.total + caps.late.total + caps.slow.total)
      expect(outbound.most.ofOrg).toBeLessThanOrEqual(caps.fresh.perOrg + caps.late.perOrg + caps.slow.perOrg)
      expect(blocked.dials()).toBe(0)
      // The guard answers for the blocked address, and no attempt had an answer of it.
      for (const attempt of await attemptsAtBlocked()) expect(attempt).toEqual({ status: 'failure', statusCode: null })
      await harness.ctx.db.deleteFrom('webhook').execute()
      for (const receiver of [odd, near, far]) await receiver.kill()
    }),
    {
      numRuns: RUNS,
      endOnFailure: true,
      examples: [
        [['hang', 'commit', 'redirect', 'commit', 'disable', 'commit', 'enable', 'hang', 'commit', 'delete', 'commit']],
      ],
    },
  )
  await blocked.close()
})
