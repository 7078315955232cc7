import { expect, test } from 'vitest'
import { findHoldReason } from './decide-hold.ts'
import type { UpgradePlan } from './rollout.ts'

const plan: UpgradePlan = {
  strategy: 'canary',
  phase_scope: 'site',
  phases: 4,
  canary_phases: [1, 10, 50, 100],
  phase_sizes: [10, 90, 0, 900],
  max_failures: null,
  max_failure_percentage: 5,
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

test('limits by phase replace the gate, and other strategies have none', () => {
  const limits = { ...plan, max_failures: [10, 10, 10, 10], max_failure_percentage: null }
  expect(findHoldReason(1, { failures: { 1: 10 }, upgraded: {} }, limits)).toBeNull()
  expect(findHoldReason(1, { failures: { 1: 1 }, upgraded: {} }, { ...plan, phase_sizes: null })).toBeNull()
})
