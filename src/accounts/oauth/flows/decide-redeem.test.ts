import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bindingOfCookie } from './binding.ts'
import { type Redeemer, mayRedeem } from './decide-redeem.ts'
import type { Code } from './flow.ts'

const now = new Date('2026-01-01T00:00:00Z')
const later = new Date(now.getTime() + 1)
const bound = bindingOfCookie('mine')
const code = (over: Partial<Code & { script: boolean }> = {}) =>
  ({ provider: 'acme', purpose: 'login', bound, expiresAt: later, script: false, ...over }) as const
const redeemer = (over: Partial<Redeemer> = {}): Redeemer => ({
  provider: 'acme',
  purpose: 'login',
  bound,
  script: false,
  now,
  ...over,
})

describe('mayRedeem', () => {
  it('allows the holder of the flow, until the code expires', () => {
    expect(mayRedeem(code(), redeemer())).toBe(true)
    expect(mayRedeem(code(), redeemer({ now: later }))).toBe(false)
  })

  it.each<[string, Partial<Redeemer>]>([
    ['another provider', { provider: 'other' }],
    ['another purpose', { purpose: 'link' }],
    ['another holder', { bound: bindingOfCookie('theirs') }],
    ['nobody', { bound: null }],
  ])('refuses %s', (_what, over) => {
    expect(mayRedeem(code(), redeemer(over))).toBe(false)
  })

  it('allows a login without a cookie only between two scripts', () => {
    const purpose = fc.constantFrom('link' as const, 'login' as const)
    fc.assert(
      fc.property(purpose, fc.boolean(), fc.boolean(), (purpose, began, redeems) => {
        const allowed = mayRedeem(code({ purpose, script: began }), redeemer({ purpose, script: redeems, bound: null }))
        expect(allowed).toBe(purpose === 'login' && began && redeems)
      }),
    )
  })
})
