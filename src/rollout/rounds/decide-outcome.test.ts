import { describe, expect, test } from 'vitest'
import { decideOutcome } from './decide-outcome.ts'
import { type TargetCounts, type UpgradePlan, noCounts } from '../rollout.ts'

const plan: UpgradePlan = {
  strategy: 'big_bang',
  phase_scope: 'site',
  phases: 1,
  phase_sizes: null,
  gates: null,
  max_failure_percentage: null,
  stages: false,
  planned: 40,
  timezone: 'UTC',
}

function statusOf(stopping: 'failed' | 'cancelled' | null, counts: Partial<TargetCounts>, released = 0): string {
  const stopReason = stopping === null ? null : 'a reason'
  const outcome = decideOutcome({ stopping, stopReason, plan, released }, { ...noCounts, ...counts })
  // A reason is shown only where something was stopped, or nothing was left.
  const emptied = outcome.status === 'cancelled' ? 'no device is left to upgrade; see the reason of each' : null
  expect(outcome.stopReason).toBe(outcome.stopping === null ? emptied : stopReason)
  expect([null, outcome.status]).toContain(outcome.stopping)
  return outcome.status
}

describe('a site upgrade', () => {
  test.each([
    [{ upgraded: 40 }, 'completed'],
    [{ upgraded: 1, failed: 39 }, 'completed'],
    [{ failed: 40 }, 'failed'],
    [{ failed: 40, skipped: 3 }, 'failed'],
    [{ failed: 39, cancelled: 1 }, 'failed'],
    // A device that got the version by other means in the meantime.
    [{ failed: 39, skipped: 1 }, 'completed'],
  ])('that was not stopped, with %o, is %s', (counts, status) => {
    expect(statusOf(null, counts)).toBe(status)
  })

  test.each([
    [{ upgraded: 40 }, 'completed'],
    [{ upgraded: 39, failed: 1 }, 'completed'],
    [{ failed: 40 }, 'failed'],
    [{ upgraded: 39, cancelled: 1 }, 'cancelled'],
    [{ cancelled: 40 }, 'cancelled'],
  ])('that was cancelled, with %o, is %s', (counts, status) => {
    expect(statusOf('cancelled', counts)).toBe(status)
  })

  test.each([
    // The cancellation came too late for all others.
    [{ upgraded: 38, cancelled: 2 }, 2, 'completed'],
    [{ staged: 38, cancelled: 2 }, 2, 'completed'],
    [{ upgraded: 37, failed: 1, cancelled: 2 }, 2, 'completed'],
    [{ failed: 38, cancelled: 2 }, 2, 'failed'],
    [{ upgraded: 38, cancelled: 2 }, 1, 'cancelled'],
    [{ failed: 38, cancelled: 2 }, 1, 'cancelled'],
    // It has lost all its devices: its end is a cancellation, too.
    [{ cancelled: 40 }, 40, 'cancelled'],
    [{ skipped: 10, cancelled: 30 }, 30, 'cancelled'],
    [{ skipped: 40 }, 0, 'completed'],
  ])('that was cancelled, with %o of which it had released %i, is %s', (counts, released, status) => {
    expect(statusOf('cancelled', counts, released)).toBe(status)
  })

  test('that a limit stopped has failed', () => {
    expect(statusOf('failed', { upgraded: 30, failed: 3, cancelled: 7 })).toBe('failed')
    expect(statusOf('failed', { upgraded: 37, failed: 3 })).toBe('failed')
  })

  test.each([
    [{ upgraded: 40 }, 0, 'completed'],
    [{ upgraded: 38, skipped: 2 }, 0, 'completed'],
    [{ staged: 40 }, 0, 'completed'],
    // It had released two before.
    [{ upgraded: 38, cancelled: 2 }, 2, 'completed'],
    [{ upgraded: 38, cancelled: 2 }, 1, 'failed'],
    [{ cancelled: 40 }, 40, 'failed'],
  ])(
    'that the failures of other sites stopped, with %o of which it had released %i, is %s',
    (counts, released, status) => {
      expect(statusOf('failed', counts, released)).toBe(status)
    },
  )
})

test('a site upgrade that has released all its targets is cancelled, but not stopped', () => {
  const outcomeOf = (counts: Partial<TargetCounts>) =>
    decideOutcome({ stopping: null, stopReason: null, plan, released: 38 }, { ...noCounts, ...counts })
  const emptied = {
    status: 'cancelled',
    stopping: null,
    stopReason: 'no device is left to upgrade; see the reason of each',
  }
  expect(outcomeOf({ cancelled: 38 })).toEqual(emptied)
  expect(outcomeOf({ cancelled: 38, skipped: 2 })).toEqual(emptied)
  expect(outcomeOf({ cancelled: 38, upgraded: 2 }).status).toBe('completed')
})

test('after a retry of failed targets, an upgrade that a limit had stopped has failed for what it cancelled then', () => {
  const retried = { stopping: null, stopReason: 'more than 5 % of 40 devices failed', plan, released: 0 }
  const counts = { ...noCounts, upgraded: 3 }
  expect(decideOutcome(retried, { ...counts, cancelled: 37 })).toEqual({
    status: 'failed',
    stopping: 'failed',
    stopReason: retried.stopReason,
  })
  const completed = { status: 'completed', stopping: null, stopReason: null }
  expect(decideOutcome(retried, counts)).toEqual(completed)
  // They were taken over, or have left.
  expect(decideOutcome({ ...retried, released: 37 }, { ...counts, cancelled: 37 })).toEqual(completed)
  expect(decideOutcome({ ...retried, released: 36 }, { ...counts, cancelled: 37 }).status).toBe('failed')
})
