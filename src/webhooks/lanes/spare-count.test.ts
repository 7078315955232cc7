import { expect, it } from 'vitest'
import fc from 'fast-check'
import { createSpareCount } from './spare-count.ts'

const step = fc.oneof(
  fc.record({ kind: fc.constant('delete' as const), messages: fc.integer({ min: 1, max: 100 }) }),
  fc.record({ kind: fc.constant('add' as const), messages: fc.integer({ min: 1, max: 100 }) }),
  fc.record({ kind: fc.constant('write' as const), messages: fc.constant(0) }),
)

it('a row never counts fewer messages than there are, and little more', () => {
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const spare = createSpareCount()
      let [row, messages] = [0, 0]
      for (const { kind, messages: wanted } of steps) {
        if (kind === 'add') {
          row += wanted - spare.take(wanted)
          messages += wanted
        } else {
          const deleted = Math.min(wanted, messages)
          messages -= deleted
          if (kind === 'delete' && spare.fits(deleted)) spare.add(deleted)
          else row -= deleted + spare.take(Infinity)
        }
        expect(row).toBeGreaterThanOrEqual(messages)
        expect(row - messages).toBeLessThanOrEqual(200)
        if (kind === 'write') expect(row).toBe(messages)
      }
    }),
  )
})
