import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addMs } from '../../../src/platform/time/clock.ts'
import { findNextDue } from '../../../src/webhooks/delivery/store.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { type Harness, createHarness } from '../harness.ts'

const LANES = 6
const clock = createTestClock()
let harness: Harness
let webhookIds: string[]
beforeAll(async () => {
  harness = await createHarness(clock)
  const body = { url: 'http://127.0.0.1:1/', topics: ['audits'] }
  webhookIds = []
  for (let lane = 0; lane < LANES; lane += 1) webhookIds.push((await harness.addWebhook(body)).id)
})
afterAll(() => harness.close())

const second = fc.option(fc.integer({ min: -3, max: 6 }))
const lanes = fc.array(fc.record({ nextAt: second, leaseUntil: second }), { minLength: LANES, maxLength: LANES })

it('the next time to claim is the first one at which a lane is due and has no lease', async () => {
  const timeOf = (seconds: number | null): Date | null => (seconds === null ? null : addMs(clock.now(), seconds * 1000))
  await fc.assert(
    fc.asyncProperty(lanes, async (all) => {
      for (const [place, { nextAt, leaseUntil }] of all.entries())
        await harness.ctx.db
          .updateTable('webhookLane')
          .set({ nextAt: timeOf(nextAt), leaseUntil: timeOf(leaseUntil) })
          .where('webhookId', '=', webhookIds[place] ?? '')
          .execute()
      const due = all.flatMap(({ nextAt, leaseUntil }) =>
        nextAt === null ? [] : [Math.max(nextAt, leaseUntil ?? -Infinity)],
      )
      expect(await findNextDue(harness.ctx.queueDb)).toEqual(timeOf(due.length === 0 ? null : Math.min(...due)))
    }),
  )
})
