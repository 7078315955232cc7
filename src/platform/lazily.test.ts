import { expect, test } from 'vitest'
import { lazily } from './lazily.ts'

test('opens it at the first request, and once however many there are', async () => {
  let opened = 0
  const lazy = lazily(async () => (opened += 1))
  expect(lazy.opened).toBeNull()
  expect(opened).toBe(0)
  expect(await Promise.all([lazy.get(), lazy.get()])).toEqual([1, 1])
  expect(await lazy.get()).toBe(1)
  expect(await lazy.opened).toBe(1)
})
