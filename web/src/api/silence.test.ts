import { beforeEach, expect, it, vi } from 'vitest'
import { watchSilence } from './silence.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

function watch() {
  const noted: string[] = []
  const watched = watchSilence({
    ask: () => noted.push('asked'),
    onSilent: () => noted.push('silent'),
    schedule(run, ms) {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
  })
  return { ...watched, noted }
}

it('asks a quiet connection, and gives it up without an answer', () => {
  const { heard, noted } = watch()
  heard()
  vi.advanceTimersByTime(19_999)
  expect(noted).toEqual([])
  vi.advanceTimersByTime(1)
  expect(noted).toEqual(['asked'])
  vi.advanceTimersByTime(10_000)
  expect(noted).toEqual(['asked', 'silent'])
})

it('goes on after an answer, and asks nothing while messages arrive', () => {
  const { heard, noted, stop } = watch()
  for (let message = 0; message < 5; message += 1) {
    heard()
    vi.advanceTimersByTime(15_000)
  }
  expect(noted).toEqual([])
  vi.advanceTimersByTime(5000)
  heard()
  vi.advanceTimersByTime(15_000)
  expect(noted).toEqual(['asked'])
  stop()
  vi.advanceTimersByTime(60_000)
  expect([noted, vi.getTimerCount()]).toEqual([['asked'], 0])
})

it('gives up an attempt that is neither answered nor refused', () => {
  const { noted } = watch()
  vi.advanceTimersByTime(10_000)
  expect(noted).toEqual(['silent'])
})
