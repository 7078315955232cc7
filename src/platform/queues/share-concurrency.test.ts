import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { shareConcurrency } from './share-concurrency.ts'

const limit = { running: 4, perHolder: 2, waiting: 100, refusal: 'enough' }

/** Work that ends on request, by the names of its holders. */
function openWork(given: Partial<typeof limit> = {}) {
  const limited = shareConcurrency({ ...limit, ...given })
  const inWork: { name: string; done: () => void }[] = []
  const waiting = new Map<string, number>()
  const wait = (name: string, by: 1 | -1): void => void waiting.set(name, (waiting.get(name) ?? 0) + by)
  return {
    running: () => inWork.map(({ name }) => name).join(''),
    /** Returns how many calls of a holder wait. */
    waiting: (name: string) => waiting.get(name) ?? 0,
    start: (name: string): Promise<void> => {
      wait(name, 1)
      return limited(name, () => {
        wait(name, -1)
        return new Promise((done) => inWork.push({ name, done }))
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

  it('refuses calls that are too many, and passes the place on when work fails', async () => {
    const limited = shareConcurrency({ ...limit, perHolder: 1, waiting: 1 })
    const failing = limited('a', () => Promise.reject(new Error('broken')))
    const next = limited('a', () => Promise.resolve('done'))
    const refused = limited('a', () => Promise.resolve('never'))
    await expect(refused).rejects.toMatchObject({ code: 'rate_limited', message: 'enough' })
    await expect(failing).rejects.toThrow('broken')
    expect(await next).toBe('done')
    expect(await limited('a', () => Promise.resolve('again'))).toBe('again')
  })

  it('never exceeds a limit, leaves no place free that a call could have, and ends all calls', async () => {
    const names = ['a', 'b', 'c']
    const steps = fc.array(fc.constantFrom(...names, 'end'), { maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(steps, async (given) => {
        const work = openWork()
        const calls: Promise<void>[] = []
        for (const step of given) {
          if (step === 'end') await work.end()
          else calls.push(work.start(step))
          const inWork = work.running()
          expect(inWork.length).toBeLessThanOrEqual(limit.running)
          for (const name of names) {
            const count = inWork.split(name).length - 1
            expect(count).toBeLessThanOrEqual(limit.perHolder)
            if (work.waiting(name) > 0 && count < limit.perHolder) expect(inWork).toHaveLength(limit.running)
          }
        }
        while (work.running() !== '') await work.end()
        await Promise.all(calls)
      }),
      { numRuns: 50 },
    )
  })
})
