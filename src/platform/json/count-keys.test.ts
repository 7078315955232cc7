import { expect, test } from 'vitest'
import { countKeys } from './count-keys.ts'

test('a key has something pending until the last of its promises has settled', async () => {
  const counts = countKeys()
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  counts.during('a', first.promise)
  counts.during('a', second.promise)
  let isIdle = false
  const idle = counts.idle('a').then(() => (isIdle = true))
  await counts.idle('b')
  expect([counts.has('a'), counts.has('b')]).toEqual([true, false])
  first.resolve()
  await first.promise
  expect([counts.has('a'), isIdle]).toEqual([true, false])
  second.reject(new Error('lost'))
  await expect(second.promise).rejects.toThrow('lost')
  await idle
  expect(counts.has('a')).toBe(false)
})
