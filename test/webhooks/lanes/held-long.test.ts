import type { ServerResponse } from 'node:http'
import { beforeEach, expect, it } from 'vitest'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { appendAudit } from '../../../src/events/append.ts'
import { updateWebhook } from '../../../src/webhooks/update-webhook.ts'
import { startEngine } from '../engine.ts'
import type { Harness } from '../harness.ts'
import { type LaneClock, createLaneClock } from '../lane-clock.ts'
import { type Receiver, status } from '../receiver.ts'

let clock: TestClock
let laneClock: LaneClock
let harness: Harness
let receiver: Receiver
beforeEach(async () => {
  laneClock = createLaneClock()
  ;({ clock, harness, receiver } = await startEngine(createTestClock(), laneClock.options))
})

const lane = () => harness.ctx.db.selectFrom('webhookLane').selectAll().executeTakeFirstOrThrow()
const isLeased = async () => (await lane()).leaseUntil !== null

it('tries a message again when it is due, although the lane is held for later events', async () => {
  await harness.addWebhook({ url: receiver.url, topics: ['audits'], single_event_per_message: true })
  receiver.answer(status(500))
  await harness.start()
  await harness.audit('fails')
  await waitUntil('the lane is released', async () => {
    laneClock.advance(50)
    return (await harness.deliveries()).length === 1 && !(await isLeased())
  })
  receiver.answer(status(200))
  await harness.audit('leases the lane')
  await receiver.waitFor(2)
  expect(await isLeased()).toBe(true)
  const { epoch } = await lane()
  clock.advance(10_000)
  const arrivals = () => receiver.received.filter(({ events }) => events[0]?.['message'] === 'fails').length
  // An event at each look keeps the lane busy, which would otherwise be held all the time.
  await waitUntil('the second attempt', async () => {
    laneClock.advance(50)
    await harness.audit('keeps the lane busy')
    return arrivals() === 2
  })
  expect(Number((await lane()).epoch)).toBeGreaterThan(Number(epoch))
  await waitUntil('everything delivered', async () => (await harness.waiting()).messages === 0)
})

/** Commits two events together, which have to be routed, so that the row of the lane counts them. */
const auditTwice = () =>
  inTx(harness.ctx, async (tx) => {
    for (const message of ['one', 'two']) await appendAudit(tx, harness.scope, { message, at: clock.now() })
  })

/** Advances the clock of the lanes, and waits until the worker has looked at them. */
async function advanceToLook(ms: number): Promise<void> {
  const looks = laneClock.looks()
  laneClock.advance(ms)
  await waitUntil('a look', () => laneClock.looks() > looks)
}

it('corrects the count of a lane that is lost, without a new count', async () => {
  const { id } = await harness.addWebhook({ url: receiver.url, topics: ['audits'], single_event_per_message: true })
  // A lane that is idle would correct its count before it is lost.
  const busy: ServerResponse[] = []
  receiver.answer((_request, response, { events: [event] }) => {
    if (event?.['message'] === 'busy') busy.push(response)
    else response.writeHead(200).end()
  })
  await harness.start()
  await harness.audit('leases the lane')
  await receiver.waitFor(1)
  await harness.audit('busy')
  await auditTwice()
  await receiver.waitFor(4)
  await waitUntil('the results are written', async () => (await harness.waiting()).messages === 0)
  const { epoch, pending } = await lane()
  expect(pending).toBeGreaterThan(0)
  await harness.ctx.db.updateTable('webhookLane').set({ failingSince: clock.now() }).execute()
  // It ends the lease.
  await updateWebhook(harness.ctx, harness.scope, { id, body: { verify_cert: false }, outbound: harness.outbound })
  expect(BigInt((await lane()).epoch)).toBeGreaterThan(BigInt(epoch))
  for (const response of busy) response.writeHead(200).end()
  await waitUntil('the count is right', async () => {
    laneClock.advance(50)
    return (await harness.waiting()).pending === 0
  })
})

it('holds a lane that was in use for long although no event comes, with the right count', async () => {
  await harness.addWebhook({ url: receiver.url, topics: ['audits'], single_event_per_message: true })
  await harness.start()
  await auditTwice()
  await receiver.waitFor(2)
  const { epoch } = await lane()
  // A look after two seconds has the lane confirmed. Without one it would be released after three, and leased again by a claim.
  for (let step = 1; step <= 80; step += 1) {
    if (step % 4 === 0) await advanceToLook(200)
    await harness.audit('keeps the lane busy')
    await receiver.waitFor(2 + step)
  }
  await auditTwice()
  await receiver.waitFor(84)
  // An idle lane corrects its count after a second, and a lane that was used for less would be released by then. This one is released
  // after four, so time stands still before.
  let idleMs = 0
  await waitUntil('the count is right', async () => {
    if (idleMs < 3400) {
      idleMs += 200
      await advanceToLook(200)
    }
    return (await harness.waiting()).pending === 0
  })
  expect(await lane()).toMatchObject({ epoch, leaseUntil: expect.any(Date) })
  const sent = receiver.received.length
  const unanswered: ServerResponse[] = []
  receiver.answer((_request, response) => void unanswered.push(response))
  await harness.audit('needs no router')
  await receiver.waitFor(sent + 1)
  const [event] = await harness.ctx.db.selectFrom('webhookOutbox').select('id').execute()
  expect(receiver.received.at(-1)?.headers['webhook-id']).toBe(event?.id)
  for (const response of unanswered) response.writeHead(200).end()
  await waitUntil('the lane is released', async () => {
    laneClock.advance(50)
    return !(await isLeased())
  })
  expect(await lane()).toMatchObject({ epoch, pending: 0, nextAt: null })
})
