import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createBatcher } from './batch.ts'

function recorded(maxItems: number, fails: (item: number) => boolean = () => false) {
  const batches: number[][] = []
  const batcher = createBatcher<number, number, string>({
    maxItems,
    keyOf: (item) => item % 10,
    async run(items) {
      batches.push([...items])
      await Promise.resolve()
      if (items.some(fails)) throw new Error(`bad ${items.join()}`)
      return new Map(items.map((item) => [item % 10, String(item)]))
    },
  })
  return { batches, batcher }
}

describe('createBatcher', () => {
  test('runs together what came together, in order, and answers each item', async () => {
    const { batches, batcher } = recorded(100)
    expect(await Promise.all([1, 2, 3].map((item) => batcher.add(item)))).toEqual(['1', '2', '3'])
    expect(batches).toEqual([[1, 2, 3]])
    expect(await batcher.add(4)).toBe('4')
  })

  test('bounds a batch and never puts a key twice into one', async () => {
    const { batches, batcher } = recorded(3)
    await Promise.all([1, 2, 3, 4, 14, 5].map((item) => batcher.add(item)))
    expect(batches).toEqual([[1, 2, 3], [4], [14, 5]])
  })

  test('a bad item fails alone', async () => {
    const { batches, batcher } = recorded(100, (item) => item === 2)
    const results = await Promise.allSettled([1, 2, 3].map((item) => batcher.add(item)))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(batches).toEqual([[1, 2, 3], [1], [2], [3]])
  })

  test('is idle when all that was added has run', async () => {
    const { batches, batcher } = recorded(1)
    void batcher.add(1)
    void batcher.add(2)
    await batcher.idle()
    expect(batches).toEqual([[1], [2]])
    await batcher.idle()
  })

  test('an item that is not answered fails; the others of its batch do not', async () => {
    const batcher = createBatcher<number, number, string>({
      maxItems: 10,
      keyOf: (item) => item,
      run: async () => Promise.resolve(new Map([[2, 'two']])),
    })
    const results = await Promise.allSettled([1, 2].map((item) => batcher.add(item)))
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  })

  test('answers each item with its own result, in whatever order its batch answers', async () => {
    const items = fc.array(fc.record({ key: fc.integer({ min: 0, max: 20 }), value: fc.string() }), { maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(
        items,
        fc.integer({ min: 1, max: 8 }),
        fc.infiniteStream(fc.nat()),
        async (all, maxItems, order) => {
          const batcher = createBatcher<number, (typeof all)[number], string>({
            maxItems,
            keyOf: ({ key }) => key,
            async run(batch) {
              await Promise.resolve()
              expect(batch.length).toBeLessThanOrEqual(maxItems)
              const ranked = batch.map(({ key, value }) => ({ key, value, rank: order.next().value }))
              const shuffled = ranked.toSorted((a, b) => a.rank - b.rank)
              return new Map(shuffled.map(({ key, value }) => [key, `${key} ${value}`]))
            },
          })
          const answers = await Promise.all(all.map((item) => batcher.add(item)))
          expect(answers).toEqual(all.map(({ key, value }) => `${key} ${value}`))
        },
      ),
    )
  })
})
