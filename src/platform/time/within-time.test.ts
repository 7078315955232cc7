import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createDeadlines } from './deadlines.ts'
import { withinTime } from './within-time.ts'

let skippedMs = 0
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] })
  skippedMs = 0
  const nowMs = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs() + skippedMs)
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** Resolves never, and rejects when the signal aborts. */
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

it('aborts what takes too long', async () => {
  const work = withinTime({ deadlines: createDeadlines(), ms: 5000 }, untilAborted)
  const failed = expect(work).rejects.toMatchObject({ name: 'TimeoutError' })
  await vi.advanceTimersByTimeAsync(4900)
  await vi.advanceTimersByTimeAsync(200)
  await failed
})

it('counts a second of the time for which the process was stopped', async () => {
  const aborted = vi.fn<() => void>()
  const work = withinTime({ deadlines: createDeadlines(), ms: 5000 }, untilAborted).catch(aborted)
  await vi.advanceTimersByTimeAsync(1000)
  skippedMs = 60_000
  await vi.advanceTimersByTimeAsync(2500)
  expect(aborted).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(2000)
  await work
  expect(aborted).toHaveBeenCalled()
})

it('aborts by the given signal, for its reason', async () => {
  const stopping = new AbortController()
  const work = withinTime({ deadlines: createDeadlines(), ms: 5000, signal: stopping.signal }, untilAborted)
  stopping.abort('stopped')
  await expect(work).rejects.toBe('stopped')
})

it.each([
  ['succeeds', (): Promise<string> => Promise.resolve('done')],
  ['fails', (): Promise<string> => Promise.reject(new Error('no'))],
])('leaves no timer and no abort behind when the work %s', async (_how, work) => {
  let given: AbortSignal | undefined
  await withinTime({ deadlines: createDeadlines(), ms: 100 }, (signal) => {
    given = signal
    return work()
  }).catch(() => undefined)
  await vi.advanceTimersByTimeAsync(1000)
  expect(vi.getTimerCount()).toBe(0)
  expect(given?.aborted).toBe(false)
})
