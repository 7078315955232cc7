import { sql } from 'kysely'
import { appendAudit } from '../../../src/events/append.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { updateWebhook } from '../../../src/webhooks/update-webhook.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { type Harness, createHarness } from '../harness.ts'
import { type Receiver, startReceiver } from '../receiver.ts'

let clock: TestClock
let harness: Harness
const receivers: Receiver[] = []
beforeAll(async () => {
  clock = createTestClock()
  harness = await createHarness(clock)
  await harness.start()
})
afterAll(async () => {
  await harness.close()
  for (const receiver of receivers) await receiver.kill()
})

async function add(filter: string | null): Promise<{ readonly receiver: Receiver; readonly id: string }> {
  const receiver = await startReceiver()
  receivers.push(receiver)
  const { id } = await harness.addWebhook({ url: receiver.url, topics: ['device-events'], filter })
  return { receiver, id }
}

async function send(names: readonly string[]): Promise<void> {
  await harness.deviceEvents(names)
  clock.advance(1000)
  harness.wake()
}

const namesOf = ({ received }: Receiver) =>
  received.flatMap(({ events }) => events.map((event) => event['device_name']))

it('sends exactly the events that the filter of the webhook selects, whatever other webhooks get', async () => {
  const all = await add(null)
  const some = await add("$.events[?@.device_name == 'b' || @.device_name > 'd']")
  const none = await add("$.events[?@.type == 'AP_DISCONNECTED']")
  await send(['a', 'b', 'c', 'd', 'e'])
  await all.receiver.waitFor(1)
  await some.receiver.waitFor(1)
  expect(namesOf(all.receiver)).toEqual(['a', 'b', 'c', 'd', 'e'])
  expect(namesOf(some.receiver)).toEqual(['b', 'e'])
  // An earlier release may have stored anything.
  await harness.ctx.db
    .updateTable('webhook')
    .set({ doc: sql`doc || '{"filter": 5}'` })
    .where('id', '=', none.id)
    .execute()
  await send(['e'])
  await none.receiver.waitFor(1)
  const { id } = none
  await updateWebhook(harness.ctx, harness.scope, { id, body: { '-filter': '' }, outbound: harness.outbound })
  await send(['f'])
  await none.receiver.waitFor(2)
  expect(namesOf(none.receiver)).toEqual(['e', 'f'])
})

it('holds the event loop for no longer than it takes to try a few filters', async () => {
  const receiver = await startReceiver()
  receivers.push(receiver)
  const filter = `$.events[0].after.list[?${Array.from({ length: 60 }, () => '@<0').join('||')}]`
  for (let count = 0; count < 100; count += 1)
    await harness.addWebhook({ url: receiver.url, topics: ['audits'], filter })
  await inTx(harness.ctx, async (tx) => {
    for (let count = 0; count < 20; count += 1)
      await appendAudit(tx, harness.scope, {
        message: 'x',
        siteId: null,
        after: { list: Array.from({ length: 80 }, () => 0) },
        at: clock.now(),
      })
  })
  clock.advance(1000)
  let [longestMs, since, done] = [0, performance.now(), false]
  const look = () => {
    longestMs = Math.max(longestMs, performance.now() - since)
    since = performance.now()
    if (!done) setImmediate(look)
  }
  look()
  harness.wake()
  await harness.drained()
  done = true
  expect(longestMs).toBeLessThan(500)
})
