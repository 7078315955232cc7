import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { exceedsPercentage, findPhaseStopReason, findStopReason } from './decide-stop.ts'
import type { UpgradePlan } from '../rollout.ts'

const plan: UpgradePlan = {
  strategy: 'canary',
  phase_scope: 'site',
  phases: 4,
  phase_sizes: [1, 9, 40, 50],
  gates: null,
  max_failure_percentage: 5,
  stages: false,
  planned: 100,
  timezone: 'UTC',
}

describe('the percentage', () => {
  test.each([
    [0, 0],
    [1, 0],
    [7, 0],
    [50, 2],
    [51, 2],
    [100, 5],
    [101, 5],
    [1000, 50],
  ])('of %i targets, 5 %% tolerates %i failures', (targets, tolerated) => {
    expect(exceedsPercentage(tolerated, 5, targets)).toBe(false)
    expect(exceedsPercentage(tolerated + 1, 5, targets)).toBe(true)
  })

  test('0 stops at the first failure, 100 never, none never', () => {
    expect(exceedsPercentage(1, 0, 100)).toBe(true)
    expect(exceedsPercentage(100, 100, 100)).toBe(false)
    expect(exceedsPercentage(100, null, 100)).toBe(false)
  })

  test('a further failure never un-trips it, and a lower percentage never stops later', () => {
    const count = fc.nat(1000)
    fc.assert(
      fc.property(count, count, count, fc.tuple(fc.nat(100), fc.nat(100)), (failures, more, targets, percents) => {
        const [less, percent] = [Math.min(...percents), Math.max(...percents)]
        if (!exceedsPercentage(failures, percent, targets)) return
        expect(exceedsPercentage(failures + more, percent, targets)).toBe(true)
        expect(exceedsPercentage(failures, less, targets)).toBe(true)
      }),
    )
  })
})

describe('limits by phase', () => {
  const gates = [0, 1, 5, 10].map((limit) => {
    return { max_failures: limit, max_failure_percentage: null, min_upgraded: 0 }
  })
  const limited = { ...plan, gates, max_failure_percentage: null }

  test.each([
    [{ 1: 1 }, 'more than 0 failures in phase 1'],
    [{ 2: 1 }, null],
    [{ 2: 2 }, 'more than 1 failure in phase 2'],
    [{ 3: 5, 4: 10 }, null],
  ])('%o: %s', (failures, reason) => {
    expect(findStopReason(failures, limited)).toBe(reason)
  })

  test('of phases of the whole upgrade stop no site alone', () => {
    expect(findStopReason({ 1: 1 }, { ...limited, gates: null })).toBeNull()
    expect(findPhaseStopReason({ 1: 1 }, gates)).toBe('more than 0 failures in phase 1')
    expect(findPhaseStopReason({ 1: 1 }, null)).toBeNull()
  })

  test('replace the percentage', () => {
    expect(findStopReason({ 3: 5, 4: 6 }, limited)).toBeNull()
    expect(findStopReason({ 3: 5, 4: 6 }, plan)).toBe('more than 5 % of 100 devices failed')
  })
})
