import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type DeliveredMessage, planDelivered } from './plan-delivered.ts'

const record = fc.record({
  deliveryId: fc.uuid(),
  messageId: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  deliveredAt: fc.integer({ min: 0, max: 8 }).map((ms) => new Date(ms)),
  length: fc.integer({ min: 1, max: 10 }),
})
const records = fc
  .array(record, { maxLength: 30 })
  .map((all) => all.toSorted((a, b) => a.deliveredAt.getTime() - b.deliveredAt.getTime()))
const limits = fc.record({ count: fc.integer({ min: 1, max: 10 }), bytes: fc.integer({ min: 1, max: 60 }) })

it('plans every message once a request, within the limits, and all of them over several requests', () => {
  fc.assert(
    fc.property(records, limits, (all, limit) => {
      const ids = new Set<string>()
      let start: Date | null = new Date(0)
      for (let requests = 0; start !== null; requests += 1) {
        expect(requests).toBeLessThan(10)
        const from: Date = start
        const rest: DeliveredMessage[] = all.filter(({ deliveredAt }) => deliveredAt >= from)
        const { messages, nextStart } = planDelivered(rest, limit)
        const planned = messages.map(({ messageId }) => messageId)
        expect(new Set(planned).size).toBe(planned.length)
        const instants = new Set(messages.map(({ deliveredAt }) => deliveredAt.getTime()))
        if (instants.size > 1) expect(messages.length).toBeLessThanOrEqual(limit.count)
        if (instants.size > 1)
          expect(messages.reduce((sum, { length }) => sum + length, 0)).toBeLessThanOrEqual(limit.bytes)
        if (nextStart !== null) expect(nextStart.getTime()).toBeGreaterThan(from.getTime())
        for (const id of planned) ids.add(id)
        start = nextStart
      }
      expect(ids).toEqual(new Set(all.map(({ messageId }) => messageId)))
    }),
  )
})
