import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createOpenWork } from './open-work.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

it('is settled when all work has ended, also what began meanwhile or failed', async () => {
  const open = createOpenWork()
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  open.add(first.promise)
  let left: number | null = null
  void open.settle(1000).then((count) => (left = count))
  open.add(second.promise)
  first.reject(new Error('refused'))
  await vi.advanceTimersByTimeAsync(10)
  expect(left).toBe(null)
  second.resolve()
  await vi.advanceTimersByTimeAsync(0)
  expect(left).toBe(0)
  expect(vi.getTimerCount()).toBe(0)
})

it('waits for nothing if nothing runs', async () => {
  expect(await createOpenWork().settle(1000)).toBe(0)
})

it('waits no longer than it may, and returns how much is left', async () => {
  const open = createOpenWork()
  open.add(new Promise(() => {}))
  let left: number | null = null
  void open.settle(1000).then((count) => (left = count))
  await vi.advanceTimersByTimeAsync(999)
  expect(left).toBe(null)
  await vi.advanceTimersByTimeAsync(1)
  expect(left).toBe(1)
})
