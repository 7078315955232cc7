import { describe, expect, test } from 'vitest'
import { createBatcher } from './batch.ts'

function recorded(maxItems: number, fails: (item: number) => boolean = () => false) {
  const batches: number[][] = []
  const batcher = createBatcher<number, string>({
    maxItems,
    keyOf: (item) => item % 10,
    async run(items) {
      batches.push([...items])
      await Promise.resolve()
      if (items.some(fails)) throw new Error(`bad ${items.join()}`)
      return items.map(String)
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
})
