import { describe, expect, test } from 'vitest'
import { running } from '../../../test/support/fleets/targets.ts'
import type { OrgLimits } from '../phases/decide-capacity.ts'
import { type Portion, type UnfinishedRead, decidePortion, isContinued, isDivisible } from './decide-portion.ts'
import { noCounts } from '../rollout.ts'
import type { SiteUpgradeChange, SiteUpgradeDecision, SiteUpgradeNow } from '../site-upgrade-now.ts'

const NOW_MS = 100_000
const noLimits: OrgLimits = { maxInFlight: null, maxDownloads: null, maxDownloadsPerSite: null, failureBudget: null }

const siteUpgrade: Omit<SiteUpgradeNow, 'targets'> = {
  ...running,
  plan: {
    strategy: 'canary',
    phase_scope: 'org',
    phases: 2,
    phase_sizes: null,
    gates: null,
    max_failure_percentage: 5,
    stages: false,
    planned: 10,
    timezone: 'UTC',
  },
  phaseOpenedMs: 50_000,
  counts: { ...noCounts, planned: 8, verifying: 2 },
}

const changeOf = (change: Partial<SiteUpgradeChange>): SiteUpgradeChange => ({
  ...siteUpgrade,
  finishedAt: null,
  dueMs: NOW_MS + 1000,
  waitsUntil: null,
  ...change,
})
const decisionOf = (change: Partial<SiteUpgradeChange>): SiteUpgradeDecision => ({
  steps: [],
  withdrawn: [],
  fences: [],
  siteUpgrade: changeOf(change),
})

describe('the targets of a site upgrade', () => {
  const { plan } = siteUpgrade
  const isRead = (more: Partial<SiteUpgradeNow>, limits = noLimits) =>
    isDivisible({ ...siteUpgrade, ...more }, limits, 10)

  test('are read in portions if there are enough', () => {
    expect(isRead({})).toBe(true)
    expect(isRead({ counts: { ...noCounts, planned: 9, upgraded: 100 } })).toBe(false)
  })

  test('are read together where a limit or an order decides which of them begins', () => {
    expect(isRead({}, { ...noLimits, maxInFlight: 3 })).toBe(false)
    expect(isRead({}, { ...noLimits, maxDownloads: 3 })).toBe(false)
    expect(isRead({}, { ...noLimits, maxDownloadsPerSite: 3 })).toBe(false)
    expect(isRead({ plan: { ...plan, max_downloads: 3 } })).toBe(false)
    expect(isRead({ plan: { ...plan, ranked: true } })).toBe(false)
    const downloads = { strategy: 'canary', scope: 'org', phase_sizes: [5, 5], gates: null } as const
    expect(isRead({ plan: { ...plan, downloads } })).toBe(false)
    expect(
      isRead({ stopping: 'failed', plan: { ...plan, ranked: true, downloads } }, { ...noLimits, maxInFlight: 3 }),
    ).toBe(true)
  })

  test('are read together where a gate of the site waits for them', () => {
    const ofSite = { ...plan, phase_scope: 'site' } as const
    expect(isRead({ plan: ofSite })).toBe(false)
    expect(isRead({ plan: ofSite, currentPhase: 2 })).toBe(true)
  })
})

describe('a round that has read a portion', () => {
  const before = (more: Partial<UnfinishedRead> = {}): UnfinishedRead => ({
    after: 'a',
    left: changeOf({ dueMs: NOW_MS }),
    goesOn: false,
    dueMs: NOW_MS + 5000,
    waitsUntil: null,
    lookMs: 10,
    ...more,
  })
  const decide = (portion: Portion, change: Partial<SiteUpgradeChange> = {}, lookMs = 1) =>
    decidePortion({ stopping: null, waitsUntil: new Date(7) }, portion, {
      decision: decisionOf(change),
      nowMs: NOW_MS,
      lookMs,
    })

  test('leaves the upgrade due for the next one', () => {
    const { decision, unfinished } = decide({ before: null, until: 'b' }, { waitsUntil: new Date(9) })
    expect(decision.siteUpgrade).toMatchObject({ dueMs: NOW_MS, waitsUntil: new Date(7) })
    expect(unfinished).toMatchObject({ after: 'b', dueMs: NOW_MS + 1000, waitsUntil: new Date(9), lookMs: 1 })
    expect(unfinished && isContinued(unfinished, decision.siteUpgrade)).toBe(true)
  })

  test('remembers the first instant for which a portion waits', () => {
    const early = before({ dueMs: NOW_MS + 500, waitsUntil: new Date(8) })
    expect(decide({ before: early, until: 'b' }).unfinished).toMatchObject({ dueMs: NOW_MS + 500, lookMs: 11 })
    expect(decide({ before: early, until: null }, { waitsUntil: new Date(9) }).decision.siteUpgrade).toMatchObject({
      dueMs: NOW_MS + 500,
      waitsUntil: new Date(8),
    })
    expect(decide({ before: before(), until: null }).decision.siteUpgrade.dueMs).toBe(NOW_MS + 1000)
    expect(decide({ before: before(), until: null }, { dueMs: null }).decision.siteUpgrade.dueMs).toBe(NOW_MS + 5000)
    expect(
      decide({ before: before({ dueMs: null }), until: null }, { dueMs: null }).decision.siteUpgrade.dueMs,
    ).toBeNull()
  })

  test('postpones the next read by the time that all portions took', () => {
    const last = decide({ before: before({ dueMs: null, lookMs: 250 }), until: null }, {}, 50)
    expect(last).toMatchObject({ decision: { siteUpgrade: { dueMs: NOW_MS + 3000 } }, unfinished: null })
  })

  test('postpones the next read although the time for which a portion waits has passed meanwhile', () => {
    const slow = before({ dueMs: NOW_MS - 1900, lookMs: 2900 })
    const last = decide({ before: slow, until: null }, {}, 100)
    expect(last.decision.siteUpgrade.dueMs).toBe(NOW_MS + 30_000)
    expect(decide({ before: slow, until: null }, { dueMs: null }, 0).decision.siteUpgrade.dueMs).toBe(NOW_MS + 29_000)
  })

  test('starts the next read at once if any portion needs another round', () => {
    const first = decide({ before: null, until: 'b' }, { dueMs: NOW_MS })
    expect(first.unfinished).toMatchObject({ goesOn: true })
    const later = decide({ before: before({ goesOn: true, dueMs: NOW_MS - 1900 }), until: 'c' })
    expect(later.unfinished).toMatchObject({ goesOn: true })
    expect(decide({ before: later.unfinished, until: null }).decision.siteUpgrade.dueMs).toBe(NOW_MS)
    expect(decide({ before: before(), until: null }, { dueMs: NOW_MS }).decision.siteUpgrade.dueMs).toBe(NOW_MS)
  })

  test('begins anew if it stops the upgrade', () => {
    expect(decide({ before: before(), until: 'b' }, { stopping: 'failed' })).toMatchObject({
      decision: { siteUpgrade: { stopping: 'failed', dueMs: NOW_MS, waitsUntil: null } },
      unfinished: null,
    })
  })

  test('decides alone about an upgrade that has ended, or not begun', () => {
    const ended = { finishedAt: new Date(5), dueMs: null }
    expect(decide({ before: before(), until: 'b' }, ended)).toEqual({ decision: decisionOf(ended), unfinished: null })
    const queued = { status: 'queued', phaseOpenedMs: null, dueMs: NOW_MS + 60_000 } as const
    expect(decide({ before: null, until: 'b' }, queued)).toEqual({ decision: decisionOf(queued), unfinished: null })
  })

  test('is not continued after a person has changed the upgrade', () => {
    const hold = { by: 'user', reason: 'user', since_s: 0, since_ms: 0 } as const
    const { unfinished } = decide({ before: null, until: 'b' })
    const isKept = (more: Partial<SiteUpgradeChange>) =>
      unfinished !== null && isContinued(unfinished, changeOf({ dueMs: NOW_MS, ...more }))
    expect(isKept({})).toBe(true)
    expect(isKept({ dueMs: NOW_MS + 1 })).toBe(false)
    expect(isKept({ stopping: 'cancelled' })).toBe(false)
    expect(isKept({ hold })).toBe(false)
    expect(isKept({ currentPhase: 2 })).toBe(false)
    expect(isKept({ counts: { ...siteUpgrade.counts, planned: 9 } })).toBe(false)
  })
})
