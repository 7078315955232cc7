import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createHistory } from './history.ts'

const texts = (messages: ReturnType<ReturnType<typeof createHistory>['after']>): string[] | null =>
  messages?.map(({ text }) => text.toString()) ?? null

it('returns exactly what follows a message, or nothing where some of that is gone', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 300_000 }), { maxLength: 40 }), fc.nat(60), (sizes, known) => {
      const history = createHistory(100)
      for (const [index, size] of sizes.entries()) history.add((seq) => `${seq} ${index} ${'x'.repeat(size)}`)
      const missed = texts(history.after(100 + known))
      if (missed === null) return
      expect(missed.map((text) => Number(text.split(' ')[0]))).toEqual(
        sizes.map((_, index) => 101 + index).filter((seq) => seq > 100 + known),
      )
      expect(missed.reduce((sum, { length }) => sum + length, 0)).toBeLessThanOrEqual(1024 * 1024)
    }),
  )
})

it('keeps the last thousand messages', () => {
  const history = createHistory(0)
  for (let count = 0; count < 1500; count += 1) history.add(String)
  expect(texts(history.after(500))).toHaveLength(1000)
  expect(history.after(499)).toBeNull()
  expect(history.after(1500)).toEqual([])
  expect(history.after(1501)).toBeNull()
})

it('knows nothing of what came before messages that were left out', () => {
  const history = createHistory(0)
  history.add(String)
  expect(history.skip()).toBe(2)
  expect(history.after(1)).toBeNull()
  expect(history.after(2)).toEqual([])
})
