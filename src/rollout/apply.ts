import { uuidv7 } from 'uuidv7'
import type { OrgScope } from '../access/scope.ts'
import type { NewCommand } from '../devices/commands/command.ts'
import { cancelQueuedCommands } from '../devices/commands/store-cancel.ts'
import { deleteActiveTargets, updateInFlight } from '../devices/commands/store-upgrades.ts'
import { insertCommands } from '../devices/commands/store.ts'
import { saveFwUpdates } from '../devices/stats/store-fwupdates.ts'
import { type DeviceHappening, appendAudit, appendDeviceEvents } from '../events/append.ts'
import { fenceDownloads } from '../firmware/store-downloads.ts'
import type { Tx } from '../platform/db.ts'
import type { JobDecision, Now, Step } from './decide-next.ts'
import type { OrgRound } from './decide-org-upgrade.ts'
import { showProgress } from './fwupdate.ts'
import { presentInFlight } from './present-in-flight.ts'
import { type UpgradeHold, isInFlight, isTerminal } from './rollout.ts'
import { type TargetChange, addOrgFailures, saveJobs, saveTargets } from './store-apply.ts'
import { holdJobs } from './store-hold.ts'
import { openPhase, updateOrgPhases } from './store-phases.ts'
import { haltTargets, stopJobs } from './store-stop.ts'
import type { Job } from './store.ts'
import type { JobTarget } from './store-targets.ts'

interface JobStep extends Omit<Step, 'target' | 'commanded'> {
  readonly job: Job
  readonly target: JobTarget
  readonly newCommandId: string | null
}

/**
 * Writes what was decided: targets, commands, events and the upgrades themselves, set by set, in the
 * caller's transaction, which holds the locks under which it was decided.
 */
export async function applyRounds(tx: Tx, scope: OrgScope, rounds: readonly OrgRound<Job>[], at: Now): Promise<void> {
  const { now } = at
  const decided = rounds.flatMap(({ decisions }) => decisions)
  const steps = decided.flatMap(({ job, decision }) => stepsOf(job, decision))
  await saveTargets(tx, scope, steps.map(targetChange), at)
  for (const inFlight of [true, false]) {
    const turned = steps.filter(
      ({ target, to }) => !isTerminal(to) && isInFlight(to) === inFlight && isInFlight(target.state) !== inFlight,
    )
    await updateInFlight(
      tx,
      scope,
      turned.map(({ target }) => target.deviceId),
      inFlight,
    )
  }
  await deleteActiveTargets(
    tx,
    scope,
    steps.filter(({ to }) => isTerminal(to)).map(({ target }) => target.deviceId),
  )
  await cancelQueuedCommands(
    tx,
    scope,
    decided.flatMap(({ decision }) => decision.takeBack),
    now,
  )
  await insertCommands(
    tx,
    scope,
    steps.flatMap((step) => commandOf(step, now) ?? []),
  )
  await fenceDownloads(
    tx,
    scope,
    decided.flatMap(({ decision }) => decision.fences),
  )
  await saveJobs(
    tx,
    scope,
    decided.map(({ job, decision }) => ({ id: job.id, change: decision.job })),
  )
  // Commands and downloads are locked before the statuses of devices, as everybody does.
  for (const round of rounds) await applyToOrg(tx, scope, round, at)
  await saveFwUpdates(
    tx,
    scope,
    steps.flatMap(({ target, to, failedAttempts }) => showProgress(target.deviceId, to, failedAttempts) ?? []),
    now,
  )
  await appendDeviceEvents(tx, scope, steps.flatMap(happeningOf), now)
}

/** The steps of the decision, with the columns of their targets that events show. */
function stepsOf(job: Job, decision: JobDecision): JobStep[] {
  const targets = new Map(job.targets.map((target) => [target.deviceId, target]))
  return decision.steps.flatMap(({ commanded, ...step }) => {
    const target = targets.get(step.target.deviceId)
    return target === undefined ? [] : [{ ...step, job, target, newCommandId: commanded ? uuidv7() : null }]
  })
}

function targetChange({ target, to, reason, newCommandId, ...step }: JobStep): TargetChange {
  const { upgradeId, deviceId, attempt } = target
  const { failedAttempts, lostAttempts, retryAtMs } = step
  const attempts = { failedAttempts, lostAttempts, retryAtMs }
  const changed = { upgradeId, deviceId, state: to, reason, ...attempts, newCommandId }
  return { ...changed, attempt: newCommandId === null ? attempt : attempt + 1 }
}

function commandOf({ target, newCommandId }: JobStep, now: Date): NewCommand | null {
  if (newCommandId === null) return null
  return {
    id: newCommandId,
    deviceId: target.deviceId,
    jobId: target.upgradeId,
    kind: 'upgrade',
    attempt: target.attempt + 1,
    params: { image_id: target.imageId, version: target.targetVersion },
    createdAt: now,
    expiresAt: null,
  }
}

function happeningOf({ job, target, to, reason }: JobStep): DeviceHappening[] {
  if ((to !== 'upgraded' && to !== 'failed') || target.device === null) return []
  const device = {
    id: target.deviceId,
    mac: target.mac,
    type: target.device.type,
    name: target.name,
    siteId: job.siteId,
    siteName: job.siteName,
  }
  if (to === 'failed') return [{ device, what: 'UPGRADE_FAILED', ...(reason !== null && { reason }) }]
  return [{ device, what: 'UPGRADED', text: `${target.fromVersion ?? 'unknown'} -> ${target.targetVersion}` }]
}

async function applyToOrg(tx: Tx, scope: OrgScope, round: OrgRound<Job>, at: Now): Promise<void> {
  const { org, newFailures, stopReason, decisions } = round
  const orgUpgradeId = org.id
  if (newFailures > 0) await addOrgFailures(tx, scope, orgUpgradeId, newFailures)
  for (const { job, decision } of decisions) {
    if (job.hold === null && decision.job.hold !== null)
      await tellOfHold(tx, scope, { job, hold: decision.job.hold, now: at.now })
    if (job.stopping === null && decision.job.stopping === 'failed')
      await haltJob(tx, scope, { job, reason: decision.job.stopReason ?? '', now: at.now })
  }
  if (stopReason !== null) await stopOtherJobs(tx, scope, { orgUpgradeId, reason: stopReason, at })
  await applyPhases(tx, scope, round, at)
}

/** Called after the site upgrades are saved, because opening or holding a phase changes them and their siblings again. */
async function applyPhases(tx: Tx, scope: OrgScope, { org, phases }: OrgRound<Job>, at: Now): Promise<void> {
  if (org.phases === null || phases === null) return
  await updateOrgPhases(tx, scope, org.id, phases)
  if (phases.current > org.phases.current)
    await openPhase(tx, scope, org.id, { phase: phases.current, nowMs: at.nowMs })
  if (phases.hold === null) return
  await holdJobs(tx, scope, org.id, phases.hold)
  await appendAudit(tx, scope, { message: `Upgrade ${org.id} held: ${phases.hold.reason}`, at: at.now })
}

async function haltJob(
  tx: Tx,
  scope: OrgScope,
  { job, reason, now }: { readonly job: Job; readonly reason: string; readonly now: Date },
): Promise<void> {
  const inFlight = await haltTargets(tx, scope, [job.id], now)
  await appendAudit(tx, scope, {
    message: `Upgrade ${job.orgUpgradeId} stopped at site "${job.siteName ?? job.siteId}": ${reason}`,
    siteId: job.siteId,
    after: presentInFlight(inFlight),
    at: now,
  })
}

/** Stops the site upgrades that this round has not decided about. */
async function stopOtherJobs(
  tx: Tx,
  scope: OrgScope,
  { orgUpgradeId, reason, at }: { readonly orgUpgradeId: string; readonly reason: string; readonly at: Now },
): Promise<void> {
  const stop = { becomes: 'failed', reason, at: at.now, nowMs: at.nowMs } as const
  const { siteUpgrades, inFlight } = await stopJobs(tx, scope, orgUpgradeId, stop)
  if (siteUpgrades === 0) return
  await appendAudit(tx, scope, {
    message: `Upgrade ${orgUpgradeId} stopped at ${siteUpgrades} further sites: ${reason}`,
    after: presentInFlight(inFlight),
    at: at.now,
  })
}

async function tellOfHold(
  tx: Tx,
  scope: OrgScope,
  { job, hold, now }: { readonly job: Job; readonly hold: UpgradeHold; readonly now: Date },
): Promise<void> {
  const message = `Upgrade ${job.orgUpgradeId} held at site "${job.siteName ?? job.siteId}": ${hold.reason}`
  await appendAudit(tx, scope, { message, siteId: job.siteId, at: now })
}
