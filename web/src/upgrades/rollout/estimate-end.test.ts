import { expect, it } from 'vitest'
import { estimateEnd } from './estimate-end.ts'

const phases = [
  {
    phase: 1,
    total: 1,
    upgraded: 1,
    failed: 0,
    under_way: 0,
    cancelled: 0,
    opened_at: 0,
    ended_at: 100,
    duration: 100,
  },
  { phase: 2, total: 0, upgraded: 0, failed: 0, under_way: 0, cancelled: 0 },
  { phase: 3, total: 9, upgraded: 2, failed: 1, under_way: 0, cancelled: 0, opened_at: 100 },
  { phase: 4, total: 90, upgraded: 0, failed: 0, under_way: 0, cancelled: 0 },
]

const running = { report: { phases, status: 'running' }, hold: null, stopReason: null, sites: [] } as const

it('takes the phases to come for as long as those that have ended', () => {
  expect(estimateEnd(running, 120)).toBe(300)
})

it('moves on with a phase that takes longer', () => {
  expect(estimateEnd(running, 500)).toBe(600)
})

it('counts the times of gates, and no time after the end of the upgrade', () => {
  const gateAfter = (phase: number, gate: object) =>
    phases.map((one) => (one.phase === phase ? { ...one, gate: { wait_for: 'time' as const, ...gate } } : one))
  const endWith = (gated: typeof phases, end: object = {}) =>
    estimateEnd({ ...running, report: { phases: gated, status: 'running', ...end } }, 120)
  expect(endWith(gateAfter(3, { minutes: 2 }))).toBe(420)
  expect(endWith(gateAfter(3, { not_before: 5000 }))).toBe(5100)
  expect(endWith(gateAfter(1, { minutes: 2, not_before: 5000 }))).toBe(300)
  expect(endWith(phases, { end_time: 250 })).toBe(250)
  // A report leaves out phases that the plan left empty.
  expect(endWith(gateAfter(3, { minutes: 2 }).filter(({ phase }) => phase !== 2))).toBe(420)
})

it('does not guess', () => {
  expect(estimateEnd({ ...running, report: { phases: phases.slice(2), status: 'running' } }, 120)).toBeNull()
  expect(estimateEnd({ ...running, report: { phases, status: 'completed' } }, 120)).toBeNull()
  expect(estimateEnd({ ...running, hold: { by: 'user', reason: '', timestamp: 1 } }, 120)).toBeNull()
  expect(estimateEnd({ ...running, stopReason: 'More than 5 % failed' }, 120)).toBeNull()
  expect(estimateEnd({ ...running, sites: [{ upgrade: {} }, { upgrade: { waits_until: 9000 } }] }, 120)).toBeNull()
  expect(estimateEnd({ ...running, sites: [{ upgrade: {} }] }, 120)).toBe(300)
})
