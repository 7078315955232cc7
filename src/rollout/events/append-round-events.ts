import type { OrgScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { UpgradeEventType } from '../../events/upgrade-event-types.ts'
import type { Tx } from '../../platform/database/db.ts'
import { type UpgradeEventInput, appendUpgradeEvents, wantsDeviceEvents, withUpgradeName } from './append-events.ts'
import { presentMacs } from './present-named.ts'
import type { Now } from '../site-upgrade-now.ts'
import type { OrgRound } from '../rounds/decide-org-upgrade.ts'
import type { Step } from '../rounds/decide-step.ts'
import { presentPhase } from '../phases/present-phase.ts'
import { NOT_REBOOTED } from '../rollout.ts'
import type { LockedSiteUpgrade } from '../store.ts'
import { finalVersionOf } from '../targets/hops/hops.ts'
import { type EndedUpgrade, listEnded } from './store.ts'
import type { LockedTarget } from '../targets/target-row.ts'

type Round = OrgRound<LockedSiteUpgrade>
type DecidedSite = Round['decisions'][number]

/**
 * Appends what the rounds have begun, and, if a webhook subscribes, the steps of devices but for those that are cancelled.
 * Called before the stops and holds that follow from them are appended, so that subscribers learn first why.
 */
export async function appendRoundProgress(
  tx: Tx,
  scope: OrgScope,
  rounds: readonly Round[],
  { now }: Now,
): Promise<void> {
  const decided = rounds.flatMap(({ decisions }) => decisions)
  const ofDevices = await listDeviceEvents(tx, scope, decided, (step) => !isCancellation(step))
  const begun = [...decided.flatMap(siteBeginnings), ...rounds.flatMap(openedPhases)]
  await appendUpgradeEvents(tx, scope, [...begun, ...ofDevices], now)
}

/**
 * Appends the ends of sites and of whole upgrades, after those of the devices that a stop has cancelled. The site upgrades have
 * been updated.
 * @returns The ids of the upgrades that have ended at all sites.
 */
export async function appendRoundEnds(
  tx: Tx,
  scope: OrgScope,
  rounds: readonly Round[],
  { now }: Now,
): Promise<readonly string[]> {
  const decided = rounds.flatMap(({ decisions }) => decisions)
  const finished = rounds.filter(({ decisions }) => decisions.some(hasEnded)).map(({ org }) => org.id)
  const ended = await listEnded(tx, scope, finished)
  const cancelled = await listDeviceEvents(tx, scope, decided, isCancellation)
  await appendUpgradeEvents(tx, scope, [...cancelled, ...decided.flatMap(siteEnds), ...ended.map(endOf)], now)
  for (const site of decided) await appendGivenUp(tx, scope, site, now)
  return ended.map(({ id }) => id)
}

/** Records the devices that the upgrade no longer reboots, because nothing else would report it. */
async function appendGivenUp(tx: Tx, scope: OrgScope, { siteUpgrade, decision }: DecidedSite, at: Date): Promise<void> {
  const given = decision.steps.filter(({ to, reason }) => to === 'cancelled' && reason === NOT_REBOOTED)
  if (given.length === 0) return
  const macs = new Map(siteUpgrade.targets.map(({ deviceId, mac }) => [deviceId, mac]))
  const named = given.flatMap(({ target }) => macs.get(target.deviceId) ?? [])
  const { id, orgUpgradeId, siteId, siteName } = siteUpgrade
  const text = `Upgrade ${orgUpgradeId} gave up ${given.length} downloaded devices at site "${siteName ?? siteId}" that did not get to reboot`
  await appendAudit(tx, scope, {
    message: await withUpgradeName(tx, scope, orgUpgradeId, text),
    after: { id: orgUpgradeId, site_upgrade_id: id, ...presentMacs(named) },
    siteId,
    at,
  })
}

function endOf({ id, status, total, upgraded, failed }: EndedUpgrade): UpgradeEventInput {
  return { type: 'UPGRADE_ENDED', upgrade_id: id, status, total, upgraded, failed }
}

function hasEnded({ decision: { siteUpgrade } }: DecidedSite): boolean {
  return siteUpgrade.finishedAt !== null
}

/** The members of an event that identify its place. */
export function placeOf({ id, orgUpgradeId, siteId, siteName }: LockedSiteUpgrade) {
  const place = { upgrade_id: orgUpgradeId, site_upgrade_id: id, site_id: siteId }
  return siteName === null ? place : { ...place, site_name: siteName }
}

/** Returns the start of a site, and the next phases of one that has its own phases with gates between them. */
function siteBeginnings(decided: DecidedSite): UpgradeEventInput[] {
  return [...rebootBeginnings(decided), ...downloadBeginnings(decided)]
}

function rebootBeginnings({ siteUpgrade, decision }: DecidedSite): UpgradeEventInput[] {
  const { status: before, currentPhase, plan } = siteUpgrade
  const { status, stopping, currentPhase: phase } = decision.siteUpgrade
  const place = placeOf(siteUpgrade)
  // Its devices may be in later phases, or wait for a limit or a window, so the open phase does not show that it starts.
  // Failures elsewhere may stop it in the round in which it would start.
  if (before === 'queued' && status !== 'queued' && stopping === null)
    return [{ type: 'UPGRADE_SITE_STARTED', ...place, phase, total: siteUpgrade.plan.planned }]
  // Phases of single devices have no sizes: the events of their devices suffice.
  if (phase === currentPhase || plan.phase_sizes === null) return []
  return [{ type: 'UPGRADE_PHASE_OPENED', ...place, phase, total: plan.phase_sizes[phase - 1] ?? 0 }]
}

function downloadBeginnings({ siteUpgrade, decision }: DecidedSite): UpgradeEventInput[] {
  const { downloads: plan } = siteUpgrade.plan
  const phase = decision.siteUpgrade.downloads?.current
  const isOpened = phase !== undefined && phase !== siteUpgrade.downloads?.current
  // As above: phases without gates are those of single devices.
  if (!isOpened || plan === undefined || plan.scope === 'org' || plan.gates === null) return []
  const total = plan.phase_sizes[phase - 1] ?? 0
  return [{ type: 'UPGRADE_PHASE_OPENED', ...placeOf(siteUpgrade), phase, phase_of: 'downloads', total }]
}

function openedPhases({ org, phases, downloads }: Round): UpgradeEventInput[] {
  return [...phasesFrom(org, org.phases, phases), ...phasesFrom(org, org.downloads, downloads)]
}

function phasesFrom({ id }: Round['org'], before: Round['org']['phases'], after: Round['phases']): UpgradeEventInput[] {
  if (before === null || after === null) return []
  const { current, sizes, of } = before
  return Array.from({ length: after.current - current }, (_, index) => {
    const phase = current + index + 1
    const total = sizes[phase - 1] ?? 0
    return { type: 'UPGRADE_PHASE_OPENED', upgrade_id: id, ...presentPhase({ phase, of }), total }
  })
}

function siteEnds(decided: DecidedSite): UpgradeEventInput[] {
  const { siteUpgrade, decision } = decided
  if (!hasEnded(decided)) return []
  const { status, stopReason, counts } = decision.siteUpgrade
  const sums = { total: siteUpgrade.plan.planned, upgraded: counts.upgraded + counts.staged, failed: counts.failed }
  const reason = stopReason === null ? {} : { reason: stopReason }
  return [{ type: 'UPGRADE_SITE_ENDED', ...placeOf(siteUpgrade), status, ...reason, ...sums }]
}

const isCancellation = ({ to }: Step): boolean => to === 'cancelled'

/** Lists the events of those of the steps that `isWanted` names; none if no webhook subscribes. */
async function listDeviceEvents(
  tx: Tx,
  scope: OrgScope,
  decided: readonly DecidedSite[],
  isWanted: (step: Step) => boolean,
): Promise<UpgradeEventInput[]> {
  if (!decided.some(({ decision }) => decision.steps.some(isWanted)) || !(await wantsDeviceEvents(tx, scope))) return []
  return decided.flatMap((site) => deviceEvents(site, isWanted))
}

function deviceEvents({ siteUpgrade, decision }: DecidedSite, isWanted: (step: Step) => boolean): UpgradeEventInput[] {
  const targets = new Map(siteUpgrade.targets.map((target) => [target.deviceId, target]))
  return decision.steps.filter(isWanted).flatMap((step): UpgradeEventInput[] => {
    const target = targets.get(step.target.deviceId)
    const type = typeOf(step)
    return target === undefined || type === null ? [] : [deviceEvent(siteUpgrade, { target, step, type })]
  })
}

function deviceEvent(
  siteUpgrade: LockedSiteUpgrade,
  {
    target,
    step: { reason },
    type,
  }: { readonly target: LockedTarget; readonly step: Step; readonly type: UpgradeEventType },
): UpgradeEventInput {
  const { deviceId, mac, phase, device } = target
  // The first command, and a skip, record what the device runs by now.
  const isRecorded = type === 'UPGRADE_DEVICE_STARTED' || type === 'UPGRADE_DEVICE_SKIPPED'
  const running = isRecorded ? device?.firmware : null
  const fromVersion = running ?? target.fromVersion
  return {
    type,
    ...placeOf(siteUpgrade),
    device_id: deviceId,
    mac,
    phase,
    version: finalVersionOf(target),
    ...(fromVersion !== null && { from_version: fromVersion }),
    ...(reason !== null && { reason }),
  }
}

/** Null for steps in which nothing ends and nothing becomes visible to people. */
function typeOf({ target, to, reason, order }: Step): UpgradeEventType | null {
  // A retry begins another run, whose target has no command yet.
  if (order !== null && target.command === null) return 'UPGRADE_DEVICE_STARTED'
  if (to === target.state) return reason === null ? null : 'UPGRADE_DEVICE_RETRYING'
  switch (to) {
    case 'upgraded':
    case 'staged':
      return 'UPGRADE_DEVICE_UPGRADED'
    case 'failed':
      return 'UPGRADE_DEVICE_FAILED'
    case 'skipped':
      return 'UPGRADE_DEVICE_SKIPPED'
    case 'cancelled':
      return 'UPGRADE_DEVICE_CANCELLED'
    case 'deferred':
      return 'UPGRADE_DEVICE_OFFLINE'
    case 'rebooting':
      return 'UPGRADE_DEVICE_REBOOTING'
    case 'rolling_back':
      return 'UPGRADE_DEVICE_RESTORING'
    case 'planned':
    case 'dl_requested':
    case 'downloading':
    case 'downloaded':
    case 'reboot_requested':
    case 'verifying':
    case 'snapshotting':
      return null
  }
}
