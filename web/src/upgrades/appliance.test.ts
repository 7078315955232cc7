import { expect, it } from 'vitest'
import {
  type ApplianceTarget,
  applianceVerdict,
  countAppliances,
  gatedPhasesOf,
  heldGateOfAppliances,
  orderTargets,
} from './appliance.ts'

const target = (status: ApplianceTarget['status'], phase = 1): ApplianceTarget => ({
  ...{ mxedge_id: `${status} ${phase}`, name: '', attempts: 0, steps: [] },
  status,
  phase,
})
const counts = { queued: 1, upgrading: 1, success: 3, failed: 0, skipped: 0, cancelled: 0, total: 5 }
const upgrade = {
  status: 'upgrading' as const,
  phase: 2,
  phase_sizes: [1, 4],
  counts,
  phase_times: [{ phase: 1, begun_time: 5, ended_time: 9 }],
}

it('puts failures first, and then what is under way', () => {
  const targets = (['success', 'queued', 'failed', 'upgrading'] as const).map((status) => target(status))
  expect(orderTargets(targets).map(({ status }) => status)).toEqual(['failed', 'upgrading', 'queued', 'success'])
})

it('counts the appliances of each phase once', () => {
  const targets = [
    target('success'),
    ...(['downloading', 'queued', 'failed', 'cancelled'] as const).map((s) => target(s, 2)),
  ]
  expect(countAppliances(upgrade, targets)).toMatchObject([
    { phase: 1, total: 1, upgraded: 1, waiting: 0, state: 'ended', openedAt: 5, endedAt: 9 },
    {
      phase: 2,
      total: 4,
      upgraded: 0,
      underWay: 1,
      failed: 1,
      cancelled: 1,
      waiting: 1,
      state: 'open',
      openedAt: null,
    },
  ])
})

it.each([
  ['queued', 1, ['ahead', 'ahead']],
  ['upgrading', 1, ['open', 'ahead']],
  ['failed', 1, ['ended', 'closed']],
  ['cancelled', 2, ['ended', 'ended']],
  ['completed', 1, ['ended', 'ended']],
] as const)('shows the phases of an upgrade that is %s in phase %d', (status, phase, states) => {
  expect(countAppliances({ ...upgrade, status, phase }, []).map(({ state }) => state)).toEqual(states)
})

it('has the gates of the phases, with the results that they are compared with', () => {
  const gates = [1, 3].map((phase) => ({ phase, gate: { min_upgraded: phase, passed: phase === 1 } }))
  const sizes = { ...upgrade, phase_sizes: [1, 0, 0, 4] }
  expect(gatedPhasesOf({ gates }, countAppliances(sizes, [target('success')]))).toEqual([
    { phase: 1, total: 1, upgraded: 1, failed: 0, opened_at: 5, ended_at: 9, gate: { min_upgraded: 1, passed: true } },
    // It has lost its appliances.
    { phase: 3, total: 0, upgraded: 0, failed: 0, gate: { min_upgraded: 3, passed: false } },
    { phase: 4, total: 4, upgraded: 0, failed: 0 },
  ])
  const start = { wait_for: 'approval' } as const
  const waits = { by: 'approval', reason: '', timestamp: 1 } as const
  expect(heldGateOfAppliances({ phase: 3, gates, start_gate: start }, waits)).toBe(gates[1]?.gate)
  expect(heldGateOfAppliances({ phase: 1, gates, start_gate: start }, { ...waits, phase: 0 })).toBe(start)
})

const held = { by: 'user', reason: 'paused by a@example.com', timestamp: 30 } as const
it.each([
  [{}, 'Phase 2 of 2: 3 of 5 upgraded'],
  [{ held }, 'Paused in phase 2 of 2: 3 of 5 upgraded'],
  [{ held: { ...held, by: 'gate' } }, 'Waits in phase 2 of 2: 3 of 5 upgraded'],
  [{ status: 'queued' }, 'Not begun: 3 of 5 upgraded'],
  [{ status: 'queued', held }, 'Paused before its start: 3 of 5 upgraded'],
  [{ status: 'queued', held: { ...held, by: 'approval' } }, 'Waits before its start: 3 of 5 upgraded'],
  [{ stop_reason: 'cancelled by a@example.com' }, '3 of 5 upgraded. Cancelled by a@example.com'],
  [{ status: 'failed', counts: { ...counts, failed: 1, skipped: 2 } }, '3 of 5 upgraded, 2 skipped, 1 failed'],
] as const)('says how an upgrade with %j stands', (changes, verdict) => {
  expect(applianceVerdict({ ...upgrade, ...changes })).toBe(verdict)
})
