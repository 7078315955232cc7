import type { SiteUpgradeDecision, SiteUpgradeNow } from '../site-upgrade-now.ts'

/**
 * Limits the decision of a round that has read only some targets of an upgrade. It keeps the next steps of these
 * targets, the counts, a limit that their failures exceed, and the end of the upgrade. It drops the end of a phase,
 * because other targets may still be in flight: then, and after a stop, the upgrade is due immediately, and a round
 * reads all its targets.
 * @param siteUpgrade Its state before the round; `dueMs` and `waitsUntil`: as the previous round left them.
 */
export function decidePartly(
  siteUpgrade: Omit<SiteUpgradeNow, 'targets'> & { readonly dueMs: number | null; readonly waitsUntil: Date | null },
  decision: SiteUpgradeDecision,
  nowMs: number,
): SiteUpgradeDecision {
  const { siteUpgrade: change } = decision
  if (change.finishedAt !== null) return decision
  const stops = change.stopping !== siteUpgrade.stopping
  const passesGate =
    change.currentPhase !== siteUpgrade.currentPhase ||
    change.downloads?.current !== siteUpgrade.downloads?.current ||
    (change.hold !== null && siteUpgrade.hold === null)
  const goesOn = change.dueMs !== null && change.dueMs <= nowMs
  return {
    ...decision,
    siteUpgrade: {
      ...change,
      currentPhase: siteUpgrade.currentPhase,
      downloads: change.downloads && { ...change.downloads, current: siteUpgrade.downloads?.current ?? 1 },
      phaseOpenedMs: passesGate ? siteUpgrade.phaseOpenedMs : change.phaseOpenedMs,
      hold: passesGate ? siteUpgrade.hold : change.hold,
      waitsUntil: stops ? null : siteUpgrade.waitsUntil,
      dueMs: stops || passesGate || goesOn ? nowMs : siteUpgrade.dueMs,
    },
  }
}

/** Rounds that read all targets of an upgrade take at most this share of the time. */
const LOOK_SHARE = 0.1
/**
 * The longest pause between two such rounds. Only they notice time-outs; changes of devices start rounds immediately.
 */
const MAX_REST_MS = 30_000

/** Postpones the next round that reads all targets if this one took long. An upgrade that is already due stays due. */
export function postponeRead(
  decision: SiteUpgradeDecision,
  { nowMs, lookMs }: { nowMs: number; lookMs: number },
): SiteUpgradeDecision {
  const { dueMs } = decision.siteUpgrade
  if (dueMs === null || dueMs <= nowMs) return decision
  return { ...decision, siteUpgrade: { ...decision.siteUpgrade, dueMs: Math.max(dueMs, restedMs({ nowMs, lookMs })) } }
}

/** The earliest time of the next round that reads all targets, after one that took `lookMs` to read them. */
export function restedMs({ nowMs, lookMs }: { nowMs: number; lookMs: number }): number {
  return nowMs + Math.min(lookMs / LOOK_SHARE, MAX_REST_MS)
}
