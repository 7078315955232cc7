import { uuidv7 } from '../../platform/uuidv7.ts'
import type { OrgScope } from '../../access/scope.ts'
import { cancelQueuedCommands } from '../../devices/commands/store-cancel.ts'
import {
  type AssignedDevice,
  type DeviceUpgradeStep,
  updateDeviceUpgrades,
  updateImages,
} from '../../devices/commands/store-upgrades.ts'
import { type UpgradeCommand, insertUpgradeCommands } from '../../devices/commands/store-upgrade-commands.ts'
import { type DeviceEventInput, appendDeviceEvents } from '../../events/append.ts'
import type { Tx } from '../../platform/database/db.ts'
import { earliest } from '../../platform/extremes.ts'
import { appendUpgradeChange } from '../events/append-events.ts'
import { endOf } from '../stops/decide-end.ts'
import { type StoppedByFailures, appendStops, stopFailed } from '../stops/apply-stops.ts'
import { appendRoundEnds, appendRoundProgress, placeOf } from '../events/append-round-events.ts'
import type { Now, SiteUpgradeDecision } from '../site-upgrade-now.ts'
import { type OrgRound, findOrgHold } from './decide-org-upgrade.ts'
import { decideOutage } from '../targets/decide-outage.ts'
import type { Step } from './decide-step.ts'
import { showProgress } from '../fwupdate.ts'
import { imagesOf, leavesDownloadPhase, splitImages } from '../targets/hops/hops.ts'
import { isSeenByWatchers, noteUpgrades } from '../events/note-upgrades.ts'
import { presentPhase } from '../phases/present-phase.ts'
import { type UpgradeHold, type UpgradeHop, isInFlight, isTerminal } from '../rollout.ts'
import { type TargetChange, endHolds, updateOrgFailures, updateSiteUpgrades, updateTargets } from './store.ts'
import { updateBaselines } from '../targets/health/store.ts'
import { type TargetHop, updateHops } from '../targets/hops/store.ts'
import { holdUpgrade } from '../gates/hold-upgrade.ts'
import { openDownloadPhase, updateOrgDownloads } from '../phases/store-downloads.ts'
import { openPhase, updateOrgPhases } from '../phases/store.ts'
import type { LockedSiteUpgrade } from '../store.ts'
import type { LockedTarget } from '../targets/target-row.ts'
import { closingOf, sendBy } from '../targets/steps/decide-window.ts'
import { encodeStep } from '../targets/timeline.ts'

interface TargetStep extends Omit<Step, 'target'> {
  readonly siteUpgrade: LockedSiteUpgrade
  readonly target: LockedTarget
  readonly newCommandId: string | null
  /** The end of the maintenance window in which the step begins; null: there is none. */
  readonly closesAt: Date | null
}

/** The times of a round that has read its targets. */
export interface RoundTimes extends Now {
  /**
   * When commands are committed as sent: after the devices were read, so that no boot of theirs that was seen then, or of
   * which the report is still to come, seems to be an effect of the command.
   */
  readonly sent: { readonly at: Date; readonly atMs: number }
}

/**
 * Writes the decisions: targets, commands, events and the upgrades themselves, set by set, in the caller's transaction,
 * which has the locks that the decisions relied on.
 */
export async function applyRounds(
  tx: Tx,
  scope: OrgScope,
  rounds: readonly OrgRound<LockedSiteUpgrade>[],
  at: RoundTimes,
): Promise<void> {
  const { now } = at
  const decided = rounds.flatMap(({ decisions }) => decisions)
  const steps = decided.flatMap(({ siteUpgrade, decision }) => stepsOf(siteUpgrade, decision, now))
  await updateTargets(
    tx,
    steps.map((step) => targetChange(scope, step, at)),
    at,
  )
  const hops = steps.filter(isHopStep)
  if (hops.length > 0) await updateHops(tx, scope, hops.map(targetHop), at)
  const compared = steps.filter(({ siteUpgrade, order }) => siteUpgrade.plan.health === true && order !== null)
  const begun = compared.filter(({ order }) => order === 'upgrade' || order === 'activate')
  await updateBaselines(
    tx,
    scope,
    begun.map(({ target }) => target),
    at.nowMs,
  )
  await cancelQueuedCommands(
    tx,
    scope,
    decided.flatMap(({ decision }) => decision.withdrawn),
    now,
  )
  await insertUpgradeCommands(
    tx,
    scope,
    steps.flatMap((step) => commandOf(step, at) ?? []),
    at.sent,
  )
  await updateSiteUpgrades(
    tx,
    scope,
    decided.map(({ siteUpgrade, decision }) => ({ id: siteUpgrade.id, change: decision.siteUpgrade })),
  )
  noteUpgrades(
    tx,
    scope,
    decided.filter(isSeenByWatchers).map(({ siteUpgrade }) => siteUpgrade),
  )
  const stopped = await stopFailed(tx, scope, rounds, at)
  await appendRoundProgress(tx, scope, rounds, at)
  for (const round of rounds) await applyToOrg(tx, scope, { round, stopped, at })
  // Commands and downloads are locked before what belongs to devices, as everywhere.
  await updateDeviceUpgrades(tx, scope, steps.map(deviceUpgradeStep), now)
  // These rows are locked by then: as a first step, they would be locked before those of devices with lower ids.
  await updateImages(tx, scope, hops.map(assignedDevice))
  await appendDeviceEvents(tx, scope, steps.flatMap(deviceEventOf), now)
  const ended = await appendRoundEnds(tx, scope, rounds, at)
  if (ended.length > 0) await endHolds(tx, scope, ended)
}

function deviceUpgradeStep({ target, to, failedAttempts, newCommandId }: TargetStep): DeviceUpgradeStep {
  const isAfter = target.state === 'snapshotting' || target.state === 'rolling_back'
  const shown = isAfter ? 'kept' : showProgress(to, failedAttempts)
  const isCommanded = newCommandId !== null
  return { deviceId: target.deviceId, shown, inFlight: isInFlight(to), ends: isTerminal(to), isCommanded }
}

/** A step that goes on to a version. */
type HopStep = TargetStep & { readonly hop: UpgradeHop }

function isHopStep(step: TargetStep): step is HopStep {
  return step.hop !== undefined
}

function targetHop({ target, hop }: HopStep): TargetHop {
  const { upgradeId, deviceId } = target
  return { upgradeId, deviceId, hop, leaves: leavesDownloadPhase(target) }
}

function assignedDevice({ siteUpgrade: { orgUpgradeId }, target, hop }: HopStep): AssignedDevice {
  const { upgradeId, deviceId, path } = target
  const images = imagesOf({ imageId: hop.image_id, targetVersion: hop.version, path })
  return { deviceId, upgradeId, orgUpgradeId, ...splitImages(images) }
}

/** The steps of the decision, with the columns of their targets that events show. */
function stepsOf(siteUpgrade: LockedSiteUpgrade, decision: SiteUpgradeDecision, now: Date): TargetStep[] {
  const targets = new Map(siteUpgrade.targets.map((target) => [target.deviceId, target]))
  const closesAt = closingOf(siteUpgrade.plan, now)
  return decision.steps.flatMap((step) => {
    const target = targets.get(step.target.deviceId)
    return target === undefined
      ? []
      : [{ ...step, siteUpgrade, target, newCommandId: step.order === null ? null : uuidv7(), closesAt }]
  })
}

/** Names each member, as targetOf() does. */
function targetChange({ orgId }: OrgScope, step: TargetStep, at: Now): TargetChange {
  const { target, to, reason, newCommandId, hop } = step
  const outage = decideOutage(step, at)
  const line = { state: to, at: at.now, reason: hop === undefined ? reason : `goes on to ${hop.version}` }
  return {
    orgId,
    upgradeId: target.upgradeId,
    deviceId: target.deviceId,
    state: to,
    reason,
    attempt: newCommandId === null ? target.attempt : target.attempt + 1,
    failedAttempts: step.failedAttempts,
    lostAttempts: step.lostAttempts,
    retryAtMs: step.retryAtMs,
    staged: step.staged,
    commandId: newCommandId,
    timeline: encodeStep(line),
    downAt: outage?.downAt ?? null,
    upAt: outage?.upAt ?? null,
  }
}

function commandOf(
  { siteUpgrade, target, order, newCommandId, closesAt }: TargetStep,
  { now, options }: Now,
): UpgradeCommand | null {
  if (newCommandId === null || order === null) return null
  const command = {
    id: newCommandId,
    deviceId: target.deviceId,
    siteId: siteUpgrade.siteId,
    siteUpgradeId: target.upgradeId,
    attempt: target.attempt + 1,
    createdAt: now,
    expiresAt: null,
    carrier: target.carrier,
  }
  if (order === 'snapshot') return { ...command, kind: order, params: {} }
  const version = target.device?.backupVersion ?? null
  if (order === 'restore_backup') return { ...command, kind: order, params: { ...(version !== null && { version }) } }
  const { device } = target
  // The gateway sends no command that has expired, so nothing begins too late where the engine looks only later.
  const byWindow = device === null || closesAt === null ? null : sendBy(order, device, { closesAt, options })
  const expiresAt = earliest([byWindow, endOf(siteUpgrade.plan)])
  const carrier = expiresAt !== null && expiresAt <= now ? null : target.carrier
  return {
    ...command,
    expiresAt,
    carrier,
    kind: order,
    params: { image_id: target.imageId, version: target.targetVersion },
  }
}

function deviceEventOf(step: TargetStep): DeviceEventInput[] {
  const { siteUpgrade, target } = step
  const event = eventOf(step)
  if (event === null || target.device === null) return []
  const device = {
    id: target.deviceId,
    mac: target.mac,
    type: target.device.type,
    name: target.name,
    siteId: siteUpgrade.siteId,
    siteName: siteUpgrade.siteName,
  }
  return [{ device, ...event }]
}

/** The command that takes a snapshot has its own events when it ends, unless it was withdrawn. */
function eventOf({ target, to, reason, order }: TargetStep): Omit<DeviceEventInput, 'device'> | null {
  if (to === 'rolling_back' && target.state !== to)
    return { what: 'UPGRADE_FAILED', ...(reason !== null && { reason }), text: 'returns to its backup version' }
  // A successful restore has its own event.
  if (to === 'failed' && reason === 'rolled_back') return null
  if (to === 'failed') return { what: 'UPGRADE_FAILED', ...(reason !== null && { reason }) }
  if (order === 'snapshot') return { what: 'RECOVERY_SNAPSHOT_REQUESTED' }
  if (target.state === 'snapshotting') {
    const isWithdrawn = target.command?.kind === 'snapshot' && target.command.state === 'cancelled'
    return isWithdrawn && reason !== null ? { what: 'RECOVERY_SNAPSHOT_FAILED', text: reason } : null
  }
  if (to !== 'upgraded' && to !== 'snapshotting') return null
  const hops = target.path?.map(({ version }) => version) ?? [target.targetVersion]
  return { what: 'UPGRADED', text: [target.fromVersion ?? 'unknown', ...hops].join(' -> ') }
}

interface Applied {
  readonly round: OrgRound<LockedSiteUpgrade>
  readonly stopped: StoppedByFailures
  readonly at: Now
}

async function applyToOrg(tx: Tx, scope: OrgScope, { round, stopped, at }: Applied): Promise<void> {
  const { org, newFailures, decisions } = round
  if (newFailures > 0) await updateOrgFailures(tx, scope, org.id, newFailures)
  for (const { siteUpgrade, decision } of decisions) {
    if (siteUpgrade.hold === null && decision.siteUpgrade.hold !== null)
      await appendHoldAudit(tx, scope, { siteUpgrade, hold: decision.siteUpgrade.hold, now: at.now })
  }
  await appendStops(tx, scope, { round, stopped, now: at.now })
  await applyPhases(tx, scope, round, at)
}

/**
 * Called after the site upgrades are updated, because opening a phase or pausing changes them and their siblings again.
 */
async function applyPhases(
  tx: Tx,
  scope: OrgScope,
  round: OrgRound<LockedSiteUpgrade>,
  { now, nowMs }: Now,
): Promise<void> {
  const { org, phases, downloads } = round
  if (org.phases !== null && phases !== null) {
    await updateOrgPhases(tx, scope, org.id, phases)
    const { current: phase } = phases
    if (phase > org.phases.current) await openPhase(tx, scope, org.id, { phase, nowMs })
  }
  if (org.downloads !== null && downloads !== null) {
    await updateOrgDownloads(tx, scope, org.id, downloads)
    const { current: phase } = downloads
    if (phase > org.downloads.current) await openDownloadPhase(tx, scope, org.id, { phase, nowMs })
  }
  // The same round may have ended all sites.
  const held = findOrgHold(round)
  if (held !== null) await holdUpgrade(tx, scope, org.id, { ...held, now })
}

async function appendHoldAudit(
  tx: Tx,
  scope: OrgScope,
  {
    siteUpgrade,
    hold,
    now,
  }: { readonly siteUpgrade: LockedSiteUpgrade; readonly hold: UpgradeHold; readonly now: Date },
): Promise<void> {
  const { orgUpgradeId, siteName, siteId, currentPhase, downloads } = siteUpgrade
  const { reason, of } = hold
  const message = `Upgrade ${orgUpgradeId} held at site "${siteName ?? siteId}": ${reason}`
  const current = of === 'downloads' && downloads !== null ? downloads.current : currentPhase
  const held = {
    type: 'UPGRADE_HELD',
    ...placeOf(siteUpgrade),
    ...presentPhase({ phase: current, of }),
    reason,
  } as const
  await appendUpgradeChange(tx, scope, { ...held, message }, now)
}
