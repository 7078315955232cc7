import { describe, expect, it } from 'vitest'
import { type AccessPolicy, type SignIn, decideClosed } from './decide-policy.ts'

const now = new Date('2026-11-23T12:00:00Z')
const monthAgo = new Date('2026-10-23T12:00:00Z')
const none: AccessPolicy = { requiresTwoFactor: false, expiryDays: null, idleMinutes: null }
const password: SignIn = { isBySso: false, hasSecondFactor: false, passwordSetAt: monthAgo, idleOrgIds: [] }
const closed = (policy: Partial<AccessPolicy> | null, signIn: Partial<SignIn> = {}) =>
  decideClosed({ orgId: 'a', policy: policy === null ? null : { ...none, ...policy } }, { ...password, ...signIn }, now)

describe('an organization', () => {
  it('is open without a policy, and to everyone who satisfies it', () => {
    expect(closed(null)).toBeNull()
    expect(closed({})).toBeNull()
    expect(closed({ requiresTwoFactor: true, expiryDays: 40 }, { hasSecondFactor: true })).toBeNull()
    expect(closed({ expiryDays: 1 }, { passwordSetAt: null })).toBeNull()
  })

  it('is closed without a second factor, and with an expired password', () => {
    expect(closed({ requiresTwoFactor: true })).toBe('second_factor')
    expect(closed({ expiryDays: 30 })).toBe('password_expired')
  })

  it('leaves factors and passwords to the identity provider that vouches for the account', () => {
    expect(closed({ requiresTwoFactor: true, expiryDays: 1 }, { isBySso: true })).toBeNull()
  })

  it('is closed to a session that was idle there, also one by SSO, and no other is', () => {
    expect(closed(null, { idleOrgIds: ['b', 'a'], isBySso: true })).toBe('idle')
    expect(closed({ idleMinutes: 5 }, { idleOrgIds: ['b'] })).toBeNull()
  })
})
