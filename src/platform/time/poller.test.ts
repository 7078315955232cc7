import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { systemClock } from './clock.ts'
import { type PollerOptions, startPoller } from './poller.ts'
import { createWakes } from '../database/wakes.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function start(options: Pick<PollerOptions, 'work'> & Partial<PollerOptions>) {
  const wakes = createWakes()
  const ctx = { wakes, clock: systemClock, log: pino({ level: 'silent' }) }
  const poller = startPoller({ name: 'test', ctx, wake: 'outbox', intervalMs: 1000, ...options })
  return { poller, wakes, wake: () => wakes.wake('outbox') }
}

const settle = () => vi.advanceTimersByTimeAsync(0)

test('runs at once, then at the interval', async () => {
  const work = vi.fn<PollerOptions['work']>(async () => null)
  const { poller } = start({ work })
  await settle()
  expect(work).toHaveBeenCalledTimes(1)
  await vi.advanceTimersByTimeAsync(999)
  expect(work).toHaveBeenCalledTimes(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(work).toHaveBeenCalledTimes(2)
  await poller.stop()
})

test('a wake runs it before the interval, and one that comes during a round is not lost', async () => {
  let finish = (): void => {}
  const work = vi.fn<PollerOptions['work']>(async () => {
    await new Promise<void>((resolve) => (finish = resolve))
    return false
  })
  const { poller, wake } = start({ work })
  await settle()
  wake()
  wake()
  expect(work).toHaveBeenCalledTimes(1)
  finish()
  await settle()
  expect(work).toHaveBeenCalledTimes(2)
  finish()
  await settle()
  expect(work).toHaveBeenCalledTimes(2)
  wake()
  await settle()
  expect(work).toHaveBeenCalledTimes(3)
  const stopped = poller.stop()
  finish()
  await stopped
})

test('rounds never overlap', async () => {
  let running = 0
  let most = 0
  const work = async (): Promise<boolean> => {
    running += 1
    most = Math.max(most, running)
    await new Promise((resolve) => setTimeout(resolve, 50))
    running -= 1
    return true
  }
  const { poller, wake } = start({ work })
  for (let round = 0; round < 20; round += 1) {
    wake()
    await vi.advanceTimersByTimeAsync(20)
  }
  expect(most).toBe(1)
  const stopped = poller.stop()
  await vi.advanceTimersByTimeAsync(50)
  await stopped
})

test('true repeats without waiting, a date waits until then', async () => {
  const answers: (boolean | Date)[] = [true, true, new Date(Date.now() + 300), false]
  const work = vi.fn<PollerOptions['work']>(async () => answers.shift() ?? null)
  const { poller } = start({ work })
  await settle()
  expect(work).toHaveBeenCalledTimes(3)
  await vi.advanceTimersByTimeAsync(299)
  expect(work).toHaveBeenCalledTimes(3)
  await vi.advanceTimersByTimeAsync(1)
  expect(work).toHaveBeenCalledTimes(4)
  await poller.stop()
})

test('a burst of wakes shares a round within the gap', async () => {
  const work = vi.fn<PollerOptions['work']>(async () => null)
  const { poller, wake } = start({ work, minGapMs: 100 })
  await settle()
  wake()
  await vi.advanceTimersByTimeAsync(99)
  wake()
  wake()
  expect(work).toHaveBeenCalledTimes(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(work).toHaveBeenCalledTimes(2)
  await poller.stop()
})

test('a full round does not wait for the end of the gap', async () => {
  const seen: string[][] = []
  const work: PollerOptions['work'] = async (_, ids) => {
    seen.push([...ids])
    return null
  }
  const { poller, wakes } = start({ work, minGapMs: 100, fullAt: 3 })
  await settle()
  wakes.wake('outbox', ['a', 'b'])
  await vi.advanceTimersByTimeAsync(50)
  wakes.wake('outbox', ['b'])
  await settle()
  expect(seen).toEqual([[]])
  wakes.wake('outbox', ['c', 'd'])
  await settle()
  expect(seen).toEqual([[], ['a', 'b', 'c', 'd']])
  // The next round counts anew.
  wakes.wake('outbox', ['e', 'f'])
  await vi.advanceTimersByTimeAsync(99)
  expect(seen).toHaveLength(2)
  await vi.advanceTimersByTimeAsync(1)
  expect(seen.at(-1)).toEqual(['e', 'f'])
  await poller.stop()
})

test('failures back off, wakes do not shorten that, and success resets it', async () => {
  let broken = true
  const work = vi.fn<PollerOptions['work']>(async () => {
    if (broken) throw new Error('database is away')
    return null
  })
  const { poller, wake } = start({ work })
  await settle()
  wake()
  await vi.advanceTimersByTimeAsync(99)
  expect(work).toHaveBeenCalledTimes(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(work).toHaveBeenCalledTimes(2)
  await vi.advanceTimersByTimeAsync(199)
  expect(work).toHaveBeenCalledTimes(2)
  broken = false
  await vi.advanceTimersByTimeAsync(1)
  expect(work).toHaveBeenCalledTimes(3)
  broken = true
  wake()
  await settle()
  await vi.advanceTimersByTimeAsync(100)
  expect(work).toHaveBeenCalledTimes(5)
  await poller.stop()
})

test('hands over the ids that were named since the last round, once', async () => {
  const seen: string[][] = []
  let broken = false
  const { poller, wakes } = start({
    async work(_signal, ids) {
      seen.push([...ids])
      if (broken) throw new Error('database is away')
      return null
    },
  })
  await settle()
  wakes.wake('outbox', ['a'])
  wakes.wake('outbox', ['b', 'a'])
  await settle()
  broken = true
  wakes.wake('outbox', ['c'])
  await settle()
  broken = false
  await vi.advanceTimersByTimeAsync(1000)
  expect(seen.slice(0, 4)).toEqual([[], ['a', 'b'], ['c'], []])
  await poller.stop()
})

test('runs without a name to be woken by, first after the interval if wanted', async () => {
  const wakes = createWakes()
  const ctx = { wakes, clock: systemClock, log: pino({ level: 'silent' }) }
  const work = vi.fn<PollerOptions['work']>(async () => null)
  const poller = startPoller({ name: 'test', ctx, intervalMs: 1000, first: 'after the interval', work })
  wakes.wake('outbox')
  await vi.advanceTimersByTimeAsync(999)
  expect(work).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  expect(work).toHaveBeenCalledTimes(1)
  poller.wake()
  await settle()
  expect(work).toHaveBeenCalledTimes(2)
  await poller.stop()
  const unused = startPoller({ name: 'test', ctx, intervalMs: 1000, first: 'after the interval', work })
  await unused.stop()
  expect(work).toHaveBeenCalledTimes(2)
})

test('backs off for no longer than it may', async () => {
  const work = vi.fn<PollerOptions['work']>(async () => Promise.reject(new Error('database is away')))
  const { poller } = start({ work, maxBackoffMs: 150 })
  await vi.advanceTimersByTimeAsync(100 + 150 + 150)
  expect(work).toHaveBeenCalledTimes(4)
  await poller.stop()
})

test('stop waits for the running round, aborts its signal, and ends pauses', async () => {
  let finish = (): void => {}
  let seen: AbortSignal | null = null
  const { poller, wake } = start({
    work: async (signal) => {
      seen = signal
      await new Promise<void>((resolve) => (finish = resolve))
      return true
    },
  })
  await settle()
  let stopped = false
  const stopping = poller.stop().then(() => (stopped = true))
  await settle()
  expect(seen).toMatchObject({ aborted: true })
  expect(stopped).toBe(false)
  finish()
  await stopping
  wake()
  await vi.advanceTimersByTimeAsync(5000)
  const idle = start({ work: async () => null })
  await settle()
  await idle.poller.stop()
  expect(vi.getTimerCount()).toBe(0)
})
