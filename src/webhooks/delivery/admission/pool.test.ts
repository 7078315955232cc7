import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createPool } from './pool.ts'

it('lets an organization exceed its share while enough stays free, and never takes the share of another one', () => {
  const pool = createPool({ total: 8, perOrg: 2, keptFree: 2 })
  const take = (orgId: string): boolean => {
    const fits = pool.fits(orgId, 1)
    if (fits) pool.add(orgId, 1)
    return fits
  }
  expect(Array.from({ length: 8 }, () => take('a'))).toEqual([...Array(6).fill(true), false, false])
  expect(pool.fullOrgIds()).toEqual(['a'])
  expect([take('b'), take('b'), take('b'), take('c')]).toEqual([true, true, false, false])
  // The slots that the first one releases go to those that wait.
  pool.add('a', -1)
  expect([take('a'), pool.leftOf('c'), take('c')]).toEqual([false, 1, true])
})

it('never uses more than the total, and has room for a share of anybody while that much is kept free', () => {
  const step = fc.record({ orgId: fc.constantFrom('a', 'b', 'c'), amount: fc.constantFrom(1, 2, -1) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const pool = createPool({ total: 12, perOrg: 3, keptFree: 3 })
      const used = new Map<string, number>()
      for (const { orgId, amount } of steps) {
        const before = used.get(orgId) ?? 0
        if (amount < 0 ? before === 0 : !pool.fits(orgId, amount)) continue
        pool.add(orgId, amount)
        used.set(orgId, before + amount)
        const all = [...used.values()].reduce((sum, one) => sum + one, 0)
        expect(pool.left()).toBe(12 - all)
        expect(all).toBeLessThanOrEqual(12)
        // Only organizations within their shares use the slots that are reserved.
        for (const [id, ofOrg] of used) if (ofOrg > 3 && id === orgId && amount > 0) expect(all).toBeLessThanOrEqual(9)
      }
    }),
  )
})
