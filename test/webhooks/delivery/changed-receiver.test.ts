import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { BREAKER_FAILURES } from '../../../src/webhooks/lanes/decide-lane.ts'
import { updateWebhook } from '../../../src/webhooks/update-webhook.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { startEngine } from '../engine.ts'
import type { Harness } from '../harness.ts'
import { type Receiver, holdAnswers, startReceiver } from '../receiver.ts'

let harness: Harness
let receiver: Receiver
beforeEach(async () => {
  ;({ harness, receiver } = await startEngine(createTestClock()))
})

/** Changes the address of the webhook to that of another receiver, which ends with the test. */
async function changeReceiver(id: string): Promise<Receiver> {
  const next = await startReceiver()
  onTestFinished(() => next.kill())
  await updateWebhook(harness.ctx, harness.scope, { id, body: { url: next.url }, outbound: harness.outbound })
  return next
}

it('sends at once to another address although a request to the former one fails after the change', async () => {
  const single = { topics: ['audits'], single_event_per_message: true }
  const { id } = await harness.addWebhook({ url: receiver.url, ...single })
  // One more failure opens the breaker.
  await harness.ctx.db
    .updateTable('webhookLane')
    .set({ failures: BREAKER_FAILURES - 1 })
    .execute()
  const held = holdAnswers(receiver)
  await harness.start()
  await harness.audit('hangs')
  await receiver.waitFor(1)
  const next = await changeReceiver(id)
  for (const response of held) response.destroy()
  await harness.audit('after')
  const sent = () => next.received.some(({ events }) => events.some(({ message }) => message === 'after'))
  await waitUntil('the event at the new address', sent)
})

it('is not disabled by a 410 of the receiver that it had before', async () => {
  const { id } = await harness.addWebhook({ url: receiver.url, topics: ['audits'] })
  const held = holdAnswers(receiver)
  await harness.start()
  await harness.audit('moved')
  await receiver.waitFor(1)
  const next = await changeReceiver(id)
  for (const response of held) response.writeHead(410).end()
  const moved = () => next.received.some(({ events }) => events.some(({ message }) => message === 'moved'))
  await waitUntil('the message at the new address', moved)
  expect((await harness.deliveries())[0]).toMatchObject({ statusCode: 410 })
  const { enabled } = await harness.ctx.db.selectFrom('webhook').select('enabled').executeTakeFirstOrThrow()
  expect(enabled).toBe(true)
})
