import type { OrgLimits } from '../phases/decide-capacity.ts'
import { restedMs } from './decide-partly.ts'
import { openCount } from '../rollout.ts'
import type { SiteUpgradeChange, SiteUpgradeDecision, SiteUpgradeNow } from '../site-upgrade-now.ts'
import { keysOf } from '../../platform/records.ts'

/** A read of all targets of a large site upgrade, portion by portion, as the last of its rounds has left it. */
export interface UnfinishedRead {
  /** The id of the last device whose target was read. */
  readonly after: string
  /** The columns that the round has written. If they have changed, other targets may need an action. */
  readonly left: ReadMark
  /** True if a portion needs another round at once. */
  readonly goesOn: boolean
  /** The first instant for which a target that was read waits, even if it has passed since; null: none does. */
  readonly dueMs: number | null
  readonly waitsUntil: Date | null
  /** How long the rounds took to read. */
  readonly lookMs: number
}

type ReadMark = Pick<SiteUpgradeChange, 'dueMs' | 'counts' | 'currentPhase' | 'stopping' | 'hold'>

/** Targets of a site upgrade that a round reads, in the order of the ids of their devices. */
export interface Portion {
  /** The portions before it; null: it is the first one. */
  readonly before: UnfinishedRead | null
  /** The id of the device of the last target; null: no further targets follow. */
  readonly until: string | null
}

/**
 * True if the targets may be read in portions: each of them is decided about without the others, and no gate of the site
 * waits for them. The organization's upgrade counts its own phases.
 */
export function isDivisible(
  { stopping, plan, currentPhase, counts }: Omit<SiteUpgradeNow, 'targets'>,
  { maxInFlight, maxDownloads, maxDownloadsPerSite }: OrgLimits,
  targetsPerRound: number,
): boolean {
  if (openCount(counts) < targetsPerRound) return false
  if (stopping !== null) return true
  const isLimited = [maxInFlight, maxDownloads, maxDownloadsPerSite, plan.max_downloads ?? null].some(
    (limit) => limit !== null,
  )
  const isOrdered = plan.ranked === true || plan.downloads !== undefined
  return !isLimited && !isOrdered && (plan.phase_scope === 'org' || currentPhase >= plan.phases)
}

/** True if the read may continue: nobody has changed the site upgrade since. */
export function isContinued({ left }: UnfinishedRead, now: ReadMark): boolean {
  return (
    left.dueMs === now.dueMs &&
    left.currentPhase === now.currentPhase &&
    left.stopping === now.stopping &&
    (left.hold === null) === (now.hold === null) &&
    keysOf(left.counts).every((state) => left.counts[state] === now.counts[state])
  )
}

interface PortionDecision {
  readonly decision: SiteUpgradeDecision
  /** Null: the read is complete, or begins anew. */
  readonly unfinished: UnfinishedRead | null
}

/**
 * Limits the decision of a round that has read a portion of the targets of a divisible site upgrade. The upgrade stays due
 * until the last portion; that round sets the time of the next one for all of them. A read takes seconds, so that an
 * instant for which a target waits may have passed by its end: the next read comes after the usual rest all the same.
 * @param siteUpgrade Its state before the round.
 */
export function decidePortion(
  siteUpgrade: Pick<SiteUpgradeNow, 'stopping'> & { readonly waitsUntil: Date | null },
  { before, until }: Portion,
  {
    decision,
    nowMs,
    lookMs,
  }: { readonly decision: SiteUpgradeDecision; readonly nowMs: number; readonly lookMs: number },
): PortionDecision {
  const { siteUpgrade: change } = decision
  // It has ended, or not begun: that does not depend on the targets.
  if (change.finishedAt !== null || change.phaseOpenedMs === null) return { decision, unfinished: null }
  const decide = (more: Partial<SiteUpgradeChange>): SiteUpgradeDecision => ({
    ...decision,
    siteUpgrade: { ...change, ...more },
  })
  // A stop concerns the targets that have been read already.
  if (change.stopping !== siteUpgrade.stopping)
    return { decision: decide({ waitsUntil: null, dueMs: nowMs }), unfinished: null }
  const goesOn = before?.goesOn === true || (change.dueMs !== null && change.dueMs <= nowMs)
  const dueMs = firstOf(before?.dueMs ?? null, change.dueMs)
  const waitsUntil = firstOf(before?.waitsUntil ?? null, change.waitsUntil)
  const sumMs = (before?.lookMs ?? 0) + lookMs
  if (until === null) {
    const laterMs = dueMs === null ? null : Math.max(dueMs, restedMs({ nowMs, lookMs: sumMs }))
    return { decision: decide({ dueMs: goesOn ? nowMs : laterMs, waitsUntil }), unfinished: null }
  }
  const continued = decide({ dueMs: nowMs, waitsUntil: siteUpgrade.waitsUntil })
  return {
    decision: continued,
    unfinished: { after: until, left: continued.siteUpgrade, goesOn, dueMs, waitsUntil, lookMs: sumMs },
  }
}

function firstOf<T extends number | Date>(a: T | null, b: T | null): T | null {
  if (a === null || b === null) return a ?? b
  return a < b ? a : b
}
