import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createLightWork } from './light-work.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('is done when each request has ended, once for all who wait', async () => {
  const light = createLightWork()
  expect(light.isDone()).toBe(true)
  await light.whenDone(0)
  const [endFirst, endSecond] = [light.begin(), light.begin()]
  const done: string[] = []
  for (const name of ['a', 'b']) void light.whenDone(1000).then(() => done.push(name))
  endFirst()
  endFirst()
  await vi.advanceTimersByTimeAsync(0)
  expect([light.isDone(), done]).toEqual([false, []])
  endSecond()
  await vi.advanceTimersByTimeAsync(0)
  expect([light.isDone(), done]).toEqual([true, ['a', 'b']])
})

it('is waited for no longer than agreed', async () => {
  const light = createLightWork()
  light.begin()
  let isOver = false
  void light.whenDone(50).then(() => (isOver = true))
  await vi.advanceTimersByTimeAsync(49)
  expect(isOver).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect([isOver, light.isDone()]).toEqual([true, false])
})
