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
  it('applies one that is in time, to its address', () => {
    expect(decideInvite(acceptance)).toBe('applied')
  })

  it('tells nothing but the address to who has another one', () => {
    const late = { ...acceptance.invite, expiresAt: now }
    expect(decideInvite({ ...acceptance, invite: late, email: 'eve@example.test' })).toBe('other_address')
  })

  it('ends at its very time', () => {
    expect(decideInvite({ ...acceptance, invite: { ...acceptance.invite, expiresAt: now } })).toBe('expired')
  })

  it('changes nothing for who is in already', () => {
    expect(decideInvite({ ...acceptance, isMember: true })).toBe('already_admin')
  })

  it.each([
    ['who was demoted', [{ scope: 'org', role: 'read' }] as const],
    ['who left', [] as const],
  ])('gives nothing in the name of %s', (_who, inviter) => {
    expect(decideInvite({ ...acceptance, inviter })).toBe('exceeds_inviter')
  })
})
