import { expect, test } from 'vitest'
import { findHoldReason, phaseText } from './decide-hold.ts'
import type { PhaseGate, UpgradePlan } from '../rollout.ts'

const gate: PhaseGate = { max_failures: null, max_failure_percentage: 5, min_upgraded: 1 }
const plan: UpgradePlan = {
  strategy: 'canary',
  phase_scope: 'site',
  phases: 4,
  phase_sizes: [10, 90, 0, 900],
  gates: [gate, gate, gate, gate],
  max_failure_percentage: 5,
  stages: false,
  planned: 1000,
  timezone: 'UTC',
}

test.each([
  ['none failed', 1, {}, false],
  ['all of a phase failed that the whole would tolerate', 1, { 1: 10 }, true],
  ['one of ten failed', 1, { 1: 1 }, true],
  ['as many failed as are tolerated', 2, { 2: 4 }, false],
  ['one more failed', 2, { 2: 5 }, true],
  ['others failed than those of the phase', 2, { 1: 10 }, false],
  ['the phase is empty', 3, { 1: 10 }, false],
])('%s', (_, phase, failures, held) => {
  expect(findHoldReason(phase, { failures, upgraded: { [phase]: 1 } }, plan) !== null).toBe(held)
})

test('a phase without a success is held, unless it is empty', () => {
  const reason = (phase: number) => findHoldReason(phase, { failures: {}, upgraded: { 1: 10 } }, plan)
  expect(reason(1)).toBeNull()
  expect(reason(2)).toBe('0 of 90 devices of phase 2 were upgraded')
  expect(reason(3)).toBeNull()
})

test('a gate without a percentage or a number of successes does not hold, nor does a plan without gates', () => {
  const limits = { ...plan, gates: [{ max_failures: 10, max_failure_percentage: null, min_upgraded: 0 }] }
  expect(findHoldReason(1, { failures: { 1: 10 }, upgraded: {} }, limits)).toBeNull()
  expect(findHoldReason(1, { failures: { 1: 1 }, upgraded: {} }, { ...plan, gates: null })).toBeNull()
  expect(findHoldReason(1, { failures: { 1: 1 }, upgraded: {} }, { ...plan, gates: [null, gate] })).toBeNull()
})

test('a gate may ask for a share of successes', () => {
  const gates = [{ ...gate, min_success_percentage: 90 }]
  const reason = (upgraded: number) =>
    findHoldReason(1, { failures: {}, upgraded: { 1: upgraded } }, { ...plan, gates })
  expect(reason(8)).toBe('8 of 10 devices of phase 1 were upgraded, less than 90 %')
  expect(reason(9)).toBeNull()
  const large = { ...plan, phase_sizes: [900], gates }
  expect(findHoldReason(1, { failures: {}, upgraded: { 1: 809 } }, large)).not.toBeNull()
  expect(findHoldReason(1, { failures: {}, upgraded: { 1: 810 } }, large)).toBeNull()
})

test.each([
  [{ phase: 0 }, 'the start (phase 0)'],
  [{ phase: 2 }, 'phase 2'],
  [{ phase: 2, of: 'downloads' as const }, 'download phase 2'],
])('%j is called %s', (phase, text) => {
  expect(phaseText(phase)).toBe(text)
})

test('a gate may ask for several successes, but for no more than there are devices', () => {
  const gates = [
    { ...gate, min_upgraded: 20 },
    { ...gate, min_upgraded: 20 },
  ]
  const reason = (phase: number, upgraded: number) =>
    findHoldReason(phase, { failures: {}, upgraded: { [phase]: upgraded } }, { ...plan, gates })
  expect(reason(1, 9)).toBe('9 of 10 devices of phase 1 were upgraded')
  expect(reason(1, 10)).toBeNull()
  expect(reason(2, 19)).toBe('19 of 90 devices of phase 2 were upgraded')
  expect(reason(2, 20)).toBeNull()
})
