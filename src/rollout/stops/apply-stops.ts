import type { OrgScope } from '../../access/scope.ts'
import { counted } from '../../platform/counted.ts'
import type { Tx } from '../../platform/database/db.ts'
import { appendUpgradeChange } from '../events/append-events.ts'
import { placeOf } from '../events/append-round-events.ts'
import type { OrgRound } from '../rounds/decide-org-upgrade.ts'
import { presentInFlight } from '../events/present-named.ts'
import type { Now, SiteUpgradeDecision } from '../site-upgrade-now.ts'
import { type Stopped, haltTargets, listRunning, markStopping } from './store.ts'
import type { LockedSiteUpgrade } from '../store.ts'

/** What rounds have stopped because of failures. */
export interface StoppedByFailures {
  /** By the ids of site upgrades: the MACs of their devices that can't be stopped. */
  readonly inFlight: ReadonlyMap<string, readonly string[]>
  /** By the ids of organization upgrades: their site upgrades that the rounds have not decided about. */
  readonly others: ReadonlyMap<string, Stopped>
  /** The ids of organization upgrades of which sites go on while their own limits stop others. */
  readonly partly: ReadonlySet<string>
}

interface Decided {
  readonly siteUpgrade: LockedSiteUpgrade
  readonly decision: SiteUpgradeDecision
}

const stops = ({ decision }: Decided): boolean => decision.isStopped === true

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
  const alone = rounds.filter(({ stopReason, decisions }) => stopReason === null && decisions.some(stops))
  const partly = await listRunning(
    tx,
    scope,
    alone.map(({ org }) => org.id),
  )
  const inFlight = await haltTargets(tx, scope, {
    groups: [...failed.map((id) => [id]), ...others.map(({ ids }) => ids)],
    fences: decided.flatMap(({ decision }) => decision.fences),
    at,
  })
  return {
    partly,
    inFlight: new Map(failed.map((id, index) => [id, inFlight[index] ?? []])),
    others: new Map(
      others.map(({ orgUpgradeId, ids }, index) => [
        orgUpgradeId,
        { siteUpgrades: ids.length, inFlight: inFlight[failed.length + index] ?? [] },
      ]),
    ),
  }
}

/**
 * Reports what a round has stopped: the whole upgrade by one event, also where the limits of its sites stop all that still
 * run, and otherwise each site that its own failures stop.
 */
export async function appendStops(
  tx: Tx,
  scope: OrgScope,
  {
    round: { org, decisions, stopReason },
    stopped,
    now,
  }: { readonly round: OrgRound<LockedSiteUpgrade>; readonly stopped: StoppedByFailures; readonly now: Date },
): Promise<void> {
  const failed = decisions.filter(stops)
  const others = stopped.others.get(org.id) ?? { siteUpgrades: 0, inFlight: [] }
  const total = failed.length + others.siteUpgrades
  if (total === 0) return
  if ((stopReason === null && stopped.partly.has(org.id)) || (total === 1 && failed.length === 1)) {
    for (const decided of failed) await appendSiteStop(tx, scope, { ...decided, stopped, now })
    return
  }
  // Only sites with phases of their own reach different limits at the same time, one for each phase at most.
  const ofSites = new Set(failed.flatMap(({ decision }) => decision.siteUpgrade.stopReason ?? []))
  const reason = stopReason ?? [...ofSites].join('; ')
  const by = stopReason === null ? ' by their limits' : ''
  const message = `Upgrade ${org.id} stopped at ${counted(total, 'site')}${by}: ${reason}`
  const event = { type: 'UPGRADE_STOPPED', upgrade_id: org.id, reason } as const
  const macs = failed.flatMap(({ siteUpgrade: { id } }) => stopped.inFlight.get(id) ?? [])
  const after = presentInFlight([...macs, ...others.inFlight].toSorted())
  await appendUpgradeChange(tx, scope, { ...event, message, after }, now)
}

async function appendSiteStop(
  tx: Tx,
  scope: OrgScope,
  { siteUpgrade, decision, stopped, now }: Decided & { readonly stopped: StoppedByFailures; readonly now: Date },
): Promise<void> {
  const { id, orgUpgradeId, siteName, siteId } = siteUpgrade
  const reason = decision.siteUpgrade.stopReason ?? ''
  const message = `Upgrade ${orgUpgradeId} stopped at site "${siteName ?? siteId}": ${reason}`
  const event = { type: 'UPGRADE_STOPPED', ...placeOf(siteUpgrade), reason } as const
  const after = presentInFlight(stopped.inFlight.get(id) ?? [])
  await appendUpgradeChange(tx, scope, { ...event, message, after }, now)
}
