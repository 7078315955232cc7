import { expect, it } from 'vitest'
import type { Hold, Report } from './upgrade.ts'
import { barOf, creatorOf } from './approver.ts'

const hold: Hold = { by: 'approval', reason: 'phase 1 ended', approvals_missing: 1, timestamp: 30 }
type Gate = NonNullable<Report['start_gate']>

const gate: Gate = { wait_for: 'approval', approvals: 2, passed: false }
const givenByAda: Gate = { ...gate, approved_by: [{ by: 'approval', name: 'Ada', admin_id: 'ada', timestamp: 20 }] }
const creator = creatorOf({ decisions: [{ type: 'UPGRADE_CREATED', timestamp: 1, admin_id: 'eve' }] })

const viewer = (admin_id: string) => ({ admin_id, email: `${admin_id}@example.com` })

it('says to those who have approved who is still needed, and lets others approve', () => {
  const given = { hold, gate: givenByAda, creator }
  expect(barOf(given, viewer('ada'))).toBe('You have approved it. 1 other person has yet to approve it.')
  expect(barOf({ ...given, hold: { ...hold, approvals_missing: 3 } }, viewer('ada'))).toBe(
    'You have approved it. 3 other people have yet to approve it.',
  )
  for (const admin of ['grace', 'eve', undefined])
    expect(barOf(given, admin === undefined ? admin : viewer(admin))).toBeNull()
  expect(barOf({ ...given, gate }, viewer('ada'))).toBeNull()
  expect(barOf({ ...given, hold: { ...hold, by: 'user' } }, viewer('ada'))).toBeNull()
  expect(barOf({ ...given, hold: null }, viewer('ada'))).toBeNull()
})

it('knows a person by the address of another account', () => {
  const approved_by = [
    { by: 'approval' as const, name: 'Ada L ada@example.com', admin_id: 'by password', timestamp: 20 },
  ]
  const bySso = { admin_id: 'by sso', email: 'ada@example.com' }
  expect(barOf({ hold, gate: { ...gate, approved_by }, creator }, bySso)).toMatch(/^You have approved it/)
})

it('says to the creator that others approve, if the gate demands it', () => {
  const { approvals_missing: _, ...one } = hold
  const byAnother = { hold: one, gate: { prevent_self_approval: true as const }, creator }
  expect(barOf(byAnother, viewer('eve'))).toBe('You created this upgrade, so another person approves it.')
  expect(barOf({ ...byAnother, hold: { ...one, approvals_missing: 2 } }, viewer('eve'))).toBe(
    'You created this upgrade, so 2 other people approve it.',
  )
  expect(barOf(byAnother, viewer('ada'))).toBeNull()
  expect(barOf({ ...byAnother, creator: undefined }, viewer('eve'))).toBeNull()
})
