import { describe, expect, test } from 'vitest'
import { running } from '../../../test/support/fleets/targets.ts'
import type { SiteUpgradeDecision } from '../site-upgrade-now.ts'
import { decidePartly, postponeRead } from './decide-partly.ts'
import { noCounts } from '../rollout.ts'

const NOW_MS = 100_000
const siteUpgrade = {
  ...running,
  plan: {
    strategy: 'canary',
    phases: 2,
    phase_sizes: [1, 1],
    gates: null,
    max_failure_percentage: 5,
    stages: false,
    planned: 2,
    timezone: 'UTC',
    phase_scope: 'site',
  },
  phaseOpenedMs: 50_000,
  counts: { ...noCounts, planned: 1, verifying: 1 },
  isDue: false,
  dueMs: 103_000,
  waitsUntil: null,
} as const

const decision = (change: Partial<SiteUpgradeDecision['siteUpgrade']>): SiteUpgradeDecision => ({
  steps: [],
  withdrawn: [],
  fences: [],
  siteUpgrade: {
    ...siteUpgrade,
    counts: { ...noCounts, planned: 1, upgraded: 1 },
    finishedAt: null,
    dueMs: NOW_MS + 1000,
    ...change,
  },
})

describe('a look at some targets', () => {
  const decide = (change: Partial<SiteUpgradeDecision['siteUpgrade']>) =>
    decidePartly(siteUpgrade, decision(change), NOW_MS).siteUpgrade

  test('counts what they do, and leaves the look at all of them as it was due', () => {
    expect(decide({})).toMatchObject({ counts: { upgraded: 1 }, dueMs: 103_000 })
  })

  test('opens no phase and holds at no gate, but has all looked at', () => {
    expect(decide({ currentPhase: 2, phaseOpenedMs: NOW_MS, dueMs: NOW_MS })).toMatchObject({
      currentPhase: 1,
      phaseOpenedMs: 50_000,
      dueMs: NOW_MS,
    })
    const hold = { by: 'gate', reason: 'too many', since_s: 0, since_ms: NOW_MS } as const
    expect(decide({ hold, dueMs: null })).toMatchObject({ hold: null, currentPhase: 1, dueMs: NOW_MS })
  })

  test('stops the upgrade, and has all looked at', () => {
    expect(decide({ stopping: 'failed', stopReason: 'too many' })).toMatchObject({
      stopping: 'failed',
      stopReason: 'too many',
      dueMs: NOW_MS,
    })
  })

  test('ends the upgrade with its last target', () => {
    const finishedAt = new Date(5)
    expect(decide({ status: 'completed', finishedAt, dueMs: null })).toMatchObject({
      status: 'completed',
      finishedAt,
      dueMs: null,
    })
  })

  test('looks again at once where the engine wants to', () => {
    expect(decide({ dueMs: NOW_MS })).toMatchObject({ dueMs: NOW_MS })
  })
})

describe('a look at all targets', () => {
  const postpone = (dueMs: number | null, lookMs: number) =>
    postponeRead(decision({ dueMs }), { nowMs: NOW_MS, lookMs }).siteUpgrade.dueMs

  test('takes a tenth of the time at most, unless that is too rare', () => {
    expect(postpone(NOW_MS + 1000, 20)).toBe(NOW_MS + 1000)
    expect(postpone(NOW_MS + 1000, 300)).toBe(NOW_MS + 3000)
    expect(postpone(NOW_MS + 1000, 5000)).toBe(NOW_MS + 30_000)
    expect(postpone(NOW_MS + 60_000, 5000)).toBe(NOW_MS + 60_000)
  })

  test('is not put off where it is due at once, or never', () => {
    expect(postpone(NOW_MS, 5000)).toBe(NOW_MS)
    expect(postpone(null, 5000)).toBeNull()
  })
})
