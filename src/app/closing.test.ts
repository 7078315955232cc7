import { expect, it, vi } from 'vitest'
import { type StopPart, createClosing } from './closing.ts'
import { messageOf } from '../platform/message-of.ts'

const never = new Promise<never>(() => {})

/** Time that passes only when a part takes it. */
function setUp() {
  vi.useFakeTimers()
  const errors: string[] = []
  const given: [string, number][] = []
  const late: string[] = []
  const log = {
    warn: ({ part }: { readonly part: string }) => void late.push(part),
    error: ({ part, err }: { readonly part: string; readonly err: unknown }) =>
      void errors.push(`${part}: ${messageOf(err)}`),
  }
  const closing = createClosing()
  return {
    errors,
    late,
    given,
    /** Adds a part that takes a time; it ends no sooner than it wants to. */
    add: (name: string, takesMs: number, reserveMs?: number): void => {
      const stop = (withinMs: number): Promise<void> => {
        given.push([name, Math.round(withinMs / 0.9)])
        return takesMs === Infinity ? never : new Promise((resolve) => setTimeout(resolve, takesMs))
      }
      closing.add(name, stop, reserveMs)
    },
    addStop: (name: string, stop: StopPart) => closing.add(name, stop),
    /** @returns The time that the stop took. */
    close: async (withinMs: number): Promise<number> => {
      const beganMs = Date.now()
      const closed = closing.close({
        withinMs,
        log,
        now: () => Date.now(),
      })
      await vi.runAllTimersAsync()
      await closed
      const tookMs = Date.now() - beganMs
      vi.useRealTimers()
      return tookMs
    },
  }
}

it('gives each part, newest first, what is left less the reserves of those after it', async () => {
  const { add, close, given, errors, late } = setUp()
  add('database', 10, 2000)
  add('http', 300)
  add('gateway', 4000, 500)
  expect(await close(10_000)).toBe(4310)
  expect(late).toEqual(['gateway'])
  expect(given).toEqual([
    ['gateway', 10_000 - 2100],
    ['http', 10_000 - 4000 - 2000],
    ['database', 10_000 - 4300],
  ])
  expect(errors).toEqual([])
})

it('ends within its time if every part hangs, and stops each of them', async () => {
  const { add, close, given, errors } = setUp()
  for (const name of ['a', 'b', 'c', 'd']) add(name, Infinity)
  expect(await close(1000)).toBe(1000)
  expect(given).toEqual([
    ['d', 700],
    ['c', 100],
    ['b', 100],
    ['a', 100],
  ])
  expect(errors).toEqual([
    'd: had not stopped after 700 ms',
    'c: had not stopped after 100 ms',
    'b: had not stopped after 100 ms',
    'a: had not stopped after 100 ms',
  ])
})

it('stops the others if a part fails, also one that has used more than its time before', async () => {
  const { add, addStop, close, errors } = setUp()
  add('last', 0)
  addStop('fails', () => {
    throw new Error('broken')
  })
  addStop('rejects', () => Promise.reject(new Error('broken too')))
  // It blocks the thread for longer than the whole stop may take.
  addStop('blocks', () => void vi.setSystemTime(Date.now() + 5000))
  expect(await close(1000)).toBe(5000)
  expect(errors).toEqual(['rejects: broken too', 'fails: broken'])
})
