import { describe, expect, it } from 'vitest'
import { type Acceptance, decideInvite } from './decide-invite.ts'

const now = new Date('2026-03-01T12:00:00Z')

const acceptance: Acceptance = {
  invite: {
    orgId: 'org',
    id: 'invite',
    email: 'ada@example.test',
    tokenHash: Buffer.of(),
    doc: { hours: 24, privileges: [{ scope: 'org', role: 'write' }] },
    invitedBy: 'admin',
    createdAt: now,
    expiresAt: new Date(now.getTime() + 1),
  },
  email: 'ada@example.test',
  inviter: [{ scope: 'org', role: 'admin' }],
  isMember: false,
  now,
}

describe('decideInvite', () => {
  it('applies an invitation in time, to its address', () => {
    expect(decideInvite(acceptance)).toBe('applied')
  })

  it('reveals only the mismatch to an account with another address', () => {
    const late = { ...acceptance.invite, expiresAt: now }
    expect(decideInvite({ ...acceptance, invite: late, email: 'eve@example.test' })).toBe('other_address')
  })

  it('expires exactly at its time', () => {
    expect(decideInvite({ ...acceptance, invite: { ...acceptance.invite, expiresAt: now } })).toBe('expired')
  })

  it('changes nothing for a member', () => {
    expect(decideInvite({ ...acceptance, isMember: true })).toBe('already_admin')
  })

  it.each([
    ['who was demoted', [{ scope: 'org', role: 'read' }] as const],
    ['who left', [] as const],
  ])('grants nothing in the name of an inviter %s', (_who, inviter) => {
    expect(decideInvite({ ...acceptance, inviter })).toBe('exceeds_inviter')
  })
})
