import { expect, it } from 'vitest'
import fc from 'fast-check'
import { planOrgRoom } from './plan-org-room.ts'

const pending = fc.array(fc.nat(400), { minLength: 1, maxLength: 20 })
const limit = fc.nat(1000)
const sum = (numbers: readonly number[]): number => numbers.reduce((all, number) => all + number, 0)

it('never lets more messages wait than the limit, in whatever order the webhooks get them', () => {
  fc.assert(
    fc.property(
      limit,
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.nat(), { maxLength: 500 }),
      (max, webhooks, arrivals) => {
        const waiting: number[] = Array.from({ length: webhooks }, () => 0)
        for (const arrival of arrivals) {
          const [index, before] = [arrival % webhooks, waiting[arrival % webhooks] ?? 0]
          const { shared, perWebhook } = planOrgRoom(max, waiting)
          // A webhook that has less than it keeps takes every message.
          if (shared + Math.max(perWebhook - before, 0) > 0) waiting[index] = before + 1
          else expect(before).toBeGreaterThanOrEqual(perWebhook)
        }
        expect(sum(waiting)).toBeLessThanOrEqual(max)
      },
    ),
  )
})

it('keeps the same room for each webhook, however much waits for the others, and at most a quarter of the limit', () => {
  fc.assert(
    fc.property(limit, pending, pending, (max, before, more) => {
      const { perWebhook } = planOrgRoom(max, before)
      expect(
        planOrgRoom(
          max,
          before.map((messages, index) => messages + (more[index] ?? 0)),
        ).perWebhook,
      ).toBe(perWebhook)
      expect(perWebhook * before.length).toBeLessThanOrEqual(max / 4)
    }),
  )
})

it('lets webhooks whose receivers are down use all that is not kept for the others', () => {
  // Each of the five webhooks keeps 50.
  expect(planOrgRoom(1000, [0, 0, 0, 0, 0])).toEqual({ shared: 750, perWebhook: 50 })
  expect(planOrgRoom(1000, [250, 250, 250, 190, 0])).toEqual({ shared: 10, perWebhook: 50 })
  expect(planOrgRoom(1000, [250, 250, 250, 250, 50])).toEqual({ shared: 0, perWebhook: 50 })
  expect(planOrgRoom(1000, [])).toEqual({ shared: 1000, perWebhook: 250 })
})
