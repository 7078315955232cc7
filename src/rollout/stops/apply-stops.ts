import type { OrgScope } from '../../access/scope.ts'
import type { Tx } from '../../platform/database/db.ts'
import { appendUpgradeChange } from '../events/append-events.ts'
import { placeOf } from '../events/append-round-events.ts'
import type { OrgRound } from '../rounds/decide-org-upgrade.ts'
import { presentInFlight } from './present-in-flight.ts'
import type { Now, SiteUpgradeDecision } from '../site-upgrade-now.ts'
import { type Stopped, haltTargets, markStopping } from './store.ts'
import type { LockedSiteUpgrade } from '../store.ts'

/** What rounds have stopped because of failures. */
export interface StoppedByFailures {
  /** By the ids of site upgrades: the MACs of their devices that can't be stopped. */
  readonly inFlight: ReadonlyMap<string, readonly string[]>
  /** By the ids of organization upgrades: their site upgrades that the rounds have not decided about. */
  readonly others: ReadonlyMap<string, Stopped>
}

interface Decided {
  readonly siteUpgrade: LockedSiteUpgrade
  readonly decision: SiteUpgradeDecision
}

const stops = ({ siteUpgrade, decision }: Decided): boolean =>
  siteUpgrade.stopping === null && decision.siteUpgrade.stopping === 'failed'

/**
 * Cuts off the downloads that the rounds end, and everything that their failures stop. The decisions about the site upgrades
 * are written already.
 */
export async function stopFailed(
  tx: Tx,
  scope: OrgScope,
  rounds: readonly OrgRound<LockedSiteUpgrade>[],
  { now: at, nowMs }: Now,
): Promise<StoppedByFailures> {
  const decided = rounds.flatMap(({ decisions }) => decisions)
  const failed = decided.filter(stops).map(({ siteUpgrade }) => siteUpgrade.id)
  const others: { readonly orgUpgradeId: string; readonly ids: readonly string[] }[] = []
  for (const { org, stopReason: reason } of rounds) {
    if (reason === null) continue
    const ids = await markStopping(tx, scope, org.id, { becomes: 'failed', reason, at, nowMs })
    others.push({ orgUpgradeId: org.id, ids })
  }
  const inFlight = await haltTargets(tx, scope, {
    groups: [...failed.map((id) => [id]), ...others.map(({ ids }) => ids)],
    fences: decided.flatMap(({ decision }) => decision.fences),
    at,
  })
  return {
    inFlight: new Map(failed.map((id, index) => [id, inFlight[index] ?? []])),
    others: new Map(
      others.map(({ orgUpgradeId, ids }, index) => [
        orgUpgradeId,
        { siteUpgrades: ids.length, inFlight: inFlight[failed.length + index] ?? [] },
      ]),
    ),
  }
}

/** Reports a stop of a site upgrade, if this decision stops it. */
export async function appendSiteStop(
  tx: Tx,
  scope: OrgScope,
  { stopped, now, ...decided }: Decided & { readonly stopped: StoppedByFailures; readonly now: Date },
): Promise<void> {
  if (!stops(decided)) return
  const { siteUpgrade, decision } = decided
  const { id, orgUpgradeId, siteName, siteId } = siteUpgrade
  const reason = decision.siteUpgrade.stopReason ?? ''
  const message = `Upgrade ${orgUpgradeId} stopped at site "${siteName ?? siteId}": ${reason}`
  const event = { type: 'UPGRADE_STOPPED', ...placeOf(siteUpgrade), reason } as const
  const after = presentInFlight(stopped.inFlight.get(id) ?? [])
  await appendUpgradeChange(tx, scope, { ...event, message, after }, now)
}

/** Reports the stop of the site upgrades that this round has not decided about. */
export async function appendOtherStops(
  tx: Tx,
  scope: OrgScope,
  {
    round: { org, stopReason: reason },
    stopped,
    now,
  }: { readonly round: OrgRound<LockedSiteUpgrade>; readonly stopped: StoppedByFailures; readonly now: Date },
): Promise<void> {
  const others = stopped.others.get(org.id)
  if (reason === null || others === undefined || others.siteUpgrades === 0) return
  const message = `Upgrade ${org.id} stopped at ${others.siteUpgrades} further sites: ${reason}`
  const event = { type: 'UPGRADE_STOPPED', upgrade_id: org.id, reason } as const
  await appendUpgradeChange(tx, scope, { ...event, message, after: presentInFlight(others.inFlight) }, now)
}
