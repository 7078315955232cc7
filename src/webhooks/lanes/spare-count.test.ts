import { expect, it } from 'vitest'
import fc from 'fast-check'
import { defaultWebhookLimits as limits } from '../limits/limits.ts'
import { createSpareCount, maxSpareOf } from './spare-count.ts'

const step = fc.oneof(
  fc.record({ kind: fc.constant('delete' as const), messages: fc.integer({ min: 1, max: 100 }) }),
  fc.record({ kind: fc.constant('add' as const), messages: fc.integer({ min: 1, max: 100 }) }),
  fc.record({ kind: fc.constant('write' as const), messages: fc.constant(0) }),
)

it('a row never counts fewer messages than there are, and little more', () => {
  fc.assert(
    fc.property(fc.array(step), fc.nat(200), (steps, maxSpare) => {
      const spare = createSpareCount(maxSpare)
      let [row, messages] = [0, 0]
      for (const { kind, messages: wanted } of steps) {
        if (kind === 'add') {
          const taken = spare.take(wanted)
          messages += wanted
          if (taken < wanted) {
            row += wanted - taken + spare.ahead
            spare.add(spare.ahead)
          }
        } else {
          const deleted = Math.min(wanted, messages)
          messages -= deleted
          if (kind === 'delete' && spare.fits(deleted)) spare.add(deleted)
          else row -= deleted + spare.take(Infinity)
        }
        expect(row).toBeGreaterThanOrEqual(messages)
        expect(row - messages).toBeLessThanOrEqual(maxSpare)
        if (kind === 'write') expect(row).toBe(messages)
        expect(spare.isZero()).toBe(row === messages)
      }
    }),
  )
})

it('a row counts not one message too many if a limit is small', () => {
  expect(maxSpareOf(limits)).toBe(200)
  expect(maxSpareOf({ ...limits, pendingPerWebhook: 1000 })).toBe(10)
  expect(maxSpareOf({ ...limits, pendingPerWebhook: 99 })).toBe(0)
  expect(maxSpareOf({ ...limits, pendingPerOrg: 4999 })).toBe(0)
})
