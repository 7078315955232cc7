import { expect, it } from 'vitest'
import { addMs } from '../../../src/platform/time/clock.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { startEngine } from '../engine.ts'
import { status } from '../receiver.ts'

const HOUR_MS = 3600e3
const FAILURES = 5

it('sends again what has failed while the clock was an hour ahead, as soon as it would have been due', async () => {
  const { clock, harness, receiver } = await startEngine(createTestClock())
  const { id } = await harness.addWebhook({ url: receiver.url, topics: ['audits'], name: 'w' })
  const lane = () =>
    harness.ctx.db.selectFrom('webhookLane').selectAll().where('webhookId', '=', id).executeTakeFirstOrThrow()
  const untilFailed = (failures: number) =>
    waitUntil(`${failures} failures`, async () => (await lane()).failures >= failures)
  receiver.answer(status(500))
  await harness.start()
  const startAt = clock.now()
  clock.advance(HOUR_MS)
  for (let count = 1; count <= FAILURES; count += 1) {
    await harness.audit(`event ${count}`)
    harness.wake()
    await untilFailed(count)
  }
  expect((await lane()).openUntil).toEqual(addMs(startAt, HOUR_MS + 5000))
  clock.advance(-HOUR_MS)
  harness.wake()
  // The breaker, and the retries with it, end as long after the present as they would have; a moment of the test is in it.
  const soon = addMs(startAt, 10_000)
  await waitUntil('the breaker ends earlier', async () => ((await lane()).openUntil ?? soon) < soon)
  receiver.answer(status(200))
  clock.advance(10_000)
  harness.wake()
  await receiver.waitFor(2 * FAILURES)
  await waitUntil('all are delivered', async () => (await harness.waiting()).messages === 0)
  expect(await lane()).toMatchObject({ failures: 0, openUntil: null, failingSince: null })
})
