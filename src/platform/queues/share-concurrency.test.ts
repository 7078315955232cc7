import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { shareConcurrency } from './share-concurrency.ts'

const limit = { running: 4, perHolder: 2, waiting: 100, refusal: 'enough' }

/** Work that ends on request, by the names of its holders and locks. */
function openWork(given: Partial<typeof limit> = {}) {
  const limited = shareConcurrency({ ...limit, ...given })
  const inWork: { name: string; done: () => void }[] = []
  const waiting = new Map<string, number>()
  const wait = (name: string, by: 1 | -1): void => void waiting.set(name, (waiting.get(name) ?? 0) + by)
  return {
    running: () => inWork.map(({ name }) => name).join(''),
    /** Returns how many calls of a holder wait, or of a holder with a lock. */
    waiting: (name: string) => waiting.get(name) ?? 0,
    start: (name: string, lock: string | null = null): Promise<void> => {
      wait(name + (lock ?? ''), 1)
      return limited({ holder: name, lock }, () => {
        wait(name + (lock ?? ''), -1)
        return new Promise((done) => inWork.push({ name: name + (lock ?? ''), done }))
      })
    },
    /** Ends the work that began first. */
    end: async (): Promise<void> => {
      inWork.shift()?.done()
      await turn()
    },
  }
}

describe('shareConcurrency', () => {
  it('leaves places for others, however many calls of one holder wait', () => {
    const { running, start } = openWork()
    for (let times = 0; times < 10; times += 1) void start('a')
    expect(running()).toBe('aa')
    void start('b')
    void start('c')
    expect(running()).toBe('aabc')
  })

  it('gives the next place to the waiting holder with the fewest, whose last one is the longest ago', async () => {
    const { running, start, end } = openWork({ running: 2 })
    for (const name of ['a', 'a', 'a', 'a', 'b', 'b', 'c']) void start(name)
    expect(running()).toBe('aa')
    await end()
    expect(running()).toBe('ab')
    await end()
    expect(running()).toBe('bc')
    await end()
    expect(running()).toBe('ca')
    await end()
    expect(running()).toBe('ab')
    await end()
    expect(running()).toBe('ba')
  })

  it('lets no work that waits for the lock of another occupy a place', async () => {
    const { running, start, end } = openWork()
    for (const name of ['a', 'a', 'b', 'b', 'b']) void start(name, '1')
    expect(running()).toBe('a1')
    for (const lock of ['2', '3']) void start('b', lock)
    expect(running()).toBe('a1b2b3')
    await end()
    // One lock is free, and b has as many places as it may.
    expect(running()).toBe('b2b3a1')
    void start('a')
    expect(running()).toBe('b2b3a1a')
    await end()
    expect(running()).toBe('b3a1a')
    await end()
    await end()
    expect(running()).toBe('ab1')
  })

  it('lets all begin that the end of one lets begin', async () => {
    const { running, start, end } = openWork()
    for (const lock of ['1', '2']) void start('a', lock)
    void start('a', '3')
    void start('b', '1')
    expect(running()).toBe('a1a2')
    await end()
    expect(running()).toBe('a2b1a3')
  })

  it('refuses calls that are too many, and passes the place on when work fails', async () => {
    const limited = shareConcurrency({ ...limit, perHolder: 1, waiting: 1 })
    const share = { holder: 'a', lock: null }
    const failing = limited(share, () => Promise.reject(new Error('broken')))
    const next = limited(share, () => Promise.resolve('done'))
    const refused = limited(share, () => Promise.resolve('never'))
    await expect(refused).rejects.toMatchObject({ code: 'rate_limited', message: 'enough' })
    await expect(failing).rejects.toThrow('broken')
    expect(await next).toBe('done')
    expect(await limited(share, () => Promise.resolve('again'))).toBe('again')
  })

  it('never exceeds a limit, leaves no place free that a call could have, and ends all calls', async () => {
    const [names, locks] = [
      ['a', 'b', 'c'],
      ['', '1', '2'],
    ]
    const call = fc.record({ name: fc.constantFrom(...names), lock: fc.constantFrom(...locks) })
    const steps = fc.array(fc.oneof(call, fc.constant('end' as const)), { maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(steps, async (given) => {
        const work = openWork()
        const calls: Promise<void>[] = []
        for (const step of given) {
          if (step === 'end') await work.end()
          else calls.push(work.start(step.name, step.lock === '' ? null : step.lock))
          const inWork = work.running()
          const countOf = (text: string): number => inWork.split(text).length - 1
          const inPlaces = names.reduce((sum, name) => sum + countOf(name), 0)
          expect(inPlaces).toBeLessThanOrEqual(limit.running)
          for (const name of names) expect(countOf(name)).toBeLessThanOrEqual(limit.perHolder)
          for (const lock of ['1', '2']) expect(countOf(lock)).toBeLessThanOrEqual(1)
          for (const name of names)
            for (const lock of locks) {
              const isFree = countOf(name) < limit.perHolder && (lock === '' || countOf(lock) === 0)
              if (work.waiting(name + lock) > 0 && isFree) expect(inPlaces).toBe(limit.running)
            }
        }
        while (work.running() !== '') await work.end()
        await Promise.all(calls)
      }),
      { numRuns: 50 },
    )
  })
})
