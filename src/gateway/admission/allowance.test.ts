import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Allowance, Allowances } from './allowance.ts'

describe('Allowance', () => {
  test('allows a burst, then the rate, separately for each kind', () => {
    const allowance = new Allowance(0)
    allowance.spend({ frames: 999, bytes: 2 * 1024 * 1024 - 1, decodeMs: 199 }, 0)
    expect(allowance.isSpent(0)).toBe(false)
    allowance.spend({ frames: 1 }, 0)
    expect([allowance.isSpent(0), allowance.isSpent(10)]).toEqual([true, false])
    allowance.spend({ bytes: 64 * 1024 }, 1000)
    expect([allowance.isSpent(1000), allowance.isSpent(1001)]).toEqual([false, false])
    allowance.spend({ decodeMs: 40 }, 1000)
    expect([allowance.isSpent(1900), allowance.isSpent(2100)]).toEqual([true, false])
    expect([allowance.isFull(30_000), allowance.isFull(60_000)]).toEqual([false, true])
  })

  test('never allows more than the burst and the rate, whatever the clock does', () => {
    const spending = fc.array(fc.record({ at: fc.nat(20_000), frames: fc.nat(300) }), { minLength: 1, maxLength: 200 })
    fc.assert(
      fc.property(spending, (all) => {
        const allowance = new Allowance(0)
        const latestMs = Math.max(...all.map(({ at }) => at))
        let through = 0
        for (const { at, frames } of all) {
          // A session spends in the same way: one frame at a time while some allowance is left.
          for (let sent = 0; sent < frames && !allowance.isSpent(at); sent += 1) {
            allowance.spend({ frames: 1 }, at)
            through += 1
          }
        }
        expect(through).toBeLessThanOrEqual(1000 + latestMs / 10 + 1)
      }),
    )
  })

  test('is refilled within a limited time, however much was used', () => {
    const cost = fc.record({ frames: fc.nat(1e9), bytes: fc.nat(1e9), decodeMs: fc.nat(1e9) })
    fc.assert(
      fc.property(fc.array(cost, { maxLength: 10 }), (costs) => {
        const allowance = new Allowance(0)
        for (const one of costs) allowance.spend(one, 0)
        expect(allowance.isSpent(32_001)).toBe(false)
        expect(allowance.isFull(64_001)).toBe(true)
      }),
    )
  })
})

describe('Allowances', () => {
  test('persist after the session, and are dropped when they are full and unused', () => {
    const all = new Allowances()
    const first = all.open('a', 0)
    expect(all.open('b', 0)).not.toBe(first)
    first.exhaust(0)
    for (const mac of ['a', 'b', 'unknown']) all.release(mac)
    all.sweep(1000)
    expect([all.size, all.isSpent('a', 1000), all.isSpent('b', 1000)]).toEqual([1, true, false])
    expect(all.open('a', 1000)).toBe(first)
    all.sweep(100_000)
    expect([all.size, all.isSpent('a', 100_000)]).toEqual([1, false])
    all.release('a')
    all.sweep(100_000)
    expect(all.size).toBe(0)
  })

  test('charge for opening a session', () => {
    const all = new Allowances()
    let opened = 0
    for (; !all.isSpent('a', 0); opened += 1) {
      all.open('a', 0)
      all.release('a')
    }
    expect(opened).toBe(20)
  })
})
