import fc from 'fast-check'
import { expect, it } from 'vitest'
import { splitByBytes } from './split.ts'

it('keeps the order and both limits, and fills each part', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 12 })), (sizes) => {
      const parts = splitByBytes(sizes, (size) => size, { count: 4, bytes: 10 })
      const bytesOf = (part: readonly number[]) => part.reduce((sum, size) => sum + size, 0)
      expect(parts.flat()).toEqual(sizes)
      for (const [index, part] of parts.entries()) {
        expect(part.length).toBeLessThanOrEqual(4)
        expect(part.length === 1 || bytesOf(part) <= 10).toBe(true)
        const next = parts[index + 1]?.[0]
        if (next !== undefined) expect(part.length === 4 || bytesOf(part) + next > 10).toBe(true)
      }
    }),
  )
})
