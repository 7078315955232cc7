import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { limitConcurrency } from './limit-concurrency.ts'

const limit = { running: 2, waiting: 1, refusal: 'enough' }

/** Work that ends on request. */
function openWork() {
  const started: number[] = []
  const ends: (() => void)[] = []
  const work = (id: number) => async () => {
    started.push(id)
    await new Promise<void>((resolve) => ends.push(resolve))
    return id
  }
  return { started, ends, work }
}

describe('limitConcurrency', () => {
  it('runs some, lets some wait in order, and refuses the rest', async () => {
    const limited = limitConcurrency(limit)
    const { started, ends, work } = openWork()
    const first = limited(work(1))
    const second = limited(work(2))
    const third = limited(work(3))
    await expect(limited(work(4))).rejects.toMatchObject({ code: 'rate_limited', message: 'enough' })
    expect(started).toEqual([1, 2])
    ends[1]?.()
    expect(await second).toBe(2)
    await turn()
    expect(started).toEqual([1, 2, 3])
    ends[0]?.()
    ends[2]?.()
    expect(await Promise.all([first, third])).toEqual([1, 3])
  })

  it('passes the turn on when work fails', async () => {
    const limited = limitConcurrency({ ...limit, running: 1 })
    const failing = limited(() => Promise.reject(new Error('broken')))
    const next = limited(() => Promise.resolve('done'))
    await expect(failing).rejects.toThrow('broken')
    expect(await next).toBe('done')
    expect(await limited(() => Promise.resolve('again'))).toBe('again')
  })
})
