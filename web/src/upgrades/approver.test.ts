import { expect, it } from 'vitest'
import type { Hold, Report } from './upgrade.ts'
import { barOf } from './approver.ts'

const hold: Hold = { by: 'approval', reason: 'phase 1 ended', approvals_missing: 1, timestamp: 30 }
type Gate = NonNullable<Report['start_gate']>

const gate: Gate = { wait_for: 'approval', approvals: 2, passed: false }
const givenByAda: Gate = { ...gate, approved_by: [{ by: 'approval', name: 'Ada', admin_id: 'ada', timestamp: 20 }] }
const counts = { total: 1, upgraded: 1, failed: 0, under_way: 0, cancelled: 0 }
const report: Parameters<typeof barOf>[0]['report'] = {
  decisions: [{ type: 'UPGRADE_CREATED', timestamp: 1, admin_id: 'eve' }],
  downloads: [],
  phases: [
    { phase: 1, ...counts, opened_at: 10, ended_at: 20, gate: givenByAda },
    { phase: 2, ...counts, upgraded: 0, gate },
  ],
}

const viewer = (admin_id: string) => ({ admin_id, email: `${admin_id}@example.com` })

it('says to those who have approved who is still needed, and lets others approve', () => {
  expect(barOf({ report, hold }, viewer('ada'))).toBe('You have approved it. 1 other person has yet to approve it.')
  expect(barOf({ report, hold: { ...hold, approvals_missing: 3 } }, viewer('ada'))).toBe(
    'You have approved it. 3 other people have yet to approve it.',
  )
  for (const admin of ['grace', 'eve', undefined])
    expect(barOf({ report, hold }, admin === undefined ? admin : viewer(admin))).toBeNull()
})

it('knows a person by the address of another account', () => {
  const start_gate: Gate = {
    ...gate,
    approved_by: [{ by: 'approval', name: 'Ada L ada@example.com', admin_id: 'by password', timestamp: 20 }],
  }
  const started = { ...report, start_gate }
  const bySso = { admin_id: 'by sso', email: 'ada@example.com' }
  expect(barOf({ report: started, hold: { ...hold, phase: 0 } }, bySso)).toMatch(/^You have approved it/)
})

it('looks at the gate that is waited at', () => {
  const start = { ...report, phases: report.phases.slice(1), start_gate: givenByAda }
  expect(barOf({ report: start, hold: { ...hold, phase: 0 } }, viewer('ada'))).not.toBeNull()
  expect(barOf({ report: { ...start, start_gate: gate }, hold: { ...hold, phase: 0 } }, viewer('ada'))).toBeNull()
  const downloads = [{ phase: 1, total: 1, downloaded: 1, failed: 0, opened_at: 10, gate: givenByAda }]
  const phases = report.phases.slice(1)
  expect(
    barOf({ report: { ...report, downloads, phases }, hold: { ...hold, phase_of: 'downloads' } }, viewer('ada')),
  ).not.toBeNull()
  expect(barOf({ report, hold: { ...hold, by: 'user' } }, viewer('ada'))).toBeNull()
  expect(barOf({ report, hold: null }, viewer('ada'))).toBeNull()
})

it('says to the creator that others approve, if the gate demands it', () => {
  const start_gate: Gate = { wait_for: 'approval', prevent_self_approval: true, passed: false }
  const started = { ...report, start_gate }
  const { approvals_missing: _, ...one } = { ...hold, phase: 0 as const }
  expect(barOf({ report: started, hold: one }, viewer('eve'))).toBe(
    'You created this upgrade, so another person approves it.',
  )
  expect(barOf({ report: started, hold: { ...one, approvals_missing: 2 } }, viewer('eve'))).toBe(
    'You created this upgrade, so 2 other people approve it.',
  )
  expect(barOf({ report: started, hold: one }, viewer('ada'))).toBeNull()
})
