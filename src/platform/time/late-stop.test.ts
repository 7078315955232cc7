import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { LATE_STOP_MS, nameLateStop } from './late-stop.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function setUp() {
  const warn = vi.fn()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  return { warn, promise, resolve, reject }
}

it('logs once what has not stopped, with what it waits for at that time', async () => {
  const { warn, promise, resolve } = setUp()
  let left = 3
  const stopped = nameLateStop({ warn }, 'requests', promise, () => ({ left }))
  left = 2
  await vi.advanceTimersByTimeAsync(LATE_STOP_MS - 1)
  expect(warn).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  await vi.advanceTimersByTimeAsync(10 * LATE_STOP_MS)
  expect(warn.mock.calls).toEqual([[{ part: 'requests', left: 2 }, 'has not stopped yet']])
  resolve()
  await stopped
})

it('logs nothing about a part that stops or fails in time', async () => {
  const { warn, promise, resolve } = setUp()
  resolve()
  await nameLateStop({ warn }, 'stops', promise)
  await expect(nameLateStop({ warn }, 'fails', Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(vi.getTimerCount()).toBe(0)
  expect(warn).not.toHaveBeenCalled()
})
