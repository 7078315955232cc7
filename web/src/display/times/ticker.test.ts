import { afterEach, expect, it, vi } from 'vitest'
import { createTicker } from './ticker.ts'

afterEach(() => {
  vi.useRealTimers()
})

it('has one time for all who listen, and rests while nobody does', () => {
  vi.useFakeTimers({ now: 0 })
  const ticker = createTicker(5000)
  const heard: string[] = []
  const end = ticker.subscribe(() => heard.push(`first at ${ticker.now()}`))
  vi.advanceTimersByTime(4000)
  const endOther = ticker.subscribe(() => heard.push(`second at ${ticker.now()}`))
  expect(ticker.now()).toBe(0)
  vi.advanceTimersByTime(1000)
  expect(heard).toEqual(['first at 5000', 'second at 5000'])
  end()
  endOther()
  vi.advanceTimersByTime(60_000)
  expect(heard).toHaveLength(2)
  expect(vi.getTimerCount()).toBe(0)
  const endThird = ticker.subscribe(() => {})
  expect(ticker.now()).toBe(65_000)
  endThird()
})
