import { counted } from '../../platform/counted.ts'
import { type InOrg, type SitesScope, siteIdOf, systemScope } from '../../access/scope.ts'
import { type DeviceEventInput, appendDeviceEvents } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import type { Tx } from '../../platform/database/db.ts'
import { saveMemoryFor } from '../../platform/process/save-memory.ts'
import { inTurns } from '../../platform/queues/next-turn.ts'
import { splitRows } from '../../platform/database/split.ts'
import { writeParts } from '../../platform/database/write-parts.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { appendUpgradeChange, appendUpgradeEvents } from '../../rollout/events/append-events.ts'
import { appendReleasedDevices } from '../../rollout/events/append-released.ts'
import { presentMacs } from '../../rollout/events/present-named.ts'
import { deviceOfCandidate } from '../../rollout/store-candidates.ts'
import { type NewUpgrade, insertUpgrade } from '../../rollout/store-create.ts'
import { findStartWait, holdOf } from '../../rollout/gates/decide-wait.ts'
import { holdUpgrade } from '../../rollout/gates/hold-upgrade.ts'
import { LARGE_PLAN, START_PHASE, type UpgradeHold } from '../../rollout/rollout.ts'
import { type TakenTarget, type Taker, takeoverMessage, takeoverReason } from '../../rollout/changes/plan-takeover.ts'
import { updateReleased } from '../../rollout/changes/store-release.ts'
import { lockTakeable } from '../../rollout/changes/store-takeover.ts'
import {
  assignDevices,
  lockAssignable,
  reassignDevices,
  releaseDevices,
} from '../../devices/commands/store-upgrades.ts'
import type { UpgradeRequest } from '../org-upgrade.ts'
import type { Planned } from '../planning/plan-targets.ts'
import { planUpgradeInSteps } from '../planning/plan-upgrade.ts'
import { ANOTHER, type Holders, listHolders } from './list-holders.ts'
import {
  type PreparedUpgrade,
  createAssignments,
  listDiverted,
  listUpgraded,
  prepareUpgrade,
} from './prepare-upgrade.ts'
import { usePlan } from '../previews/use-plan.ts'

/** Longer than any step of the creation takes, and than V8 needs afterwards to return the memory. */
const SAVING_MS = 10_000

/**
 * Plans an upgrade of the selected devices and writes it: once `tx` commits, the rollout engine carries it out. Each site
 * has one site upgrade, even if there is nothing to do. Devices that can't be upgraded, or that are in another upgrade,
 * are left out and noted. A request that names a plan gets exactly that plan.
 *
 * @throws AppError invalid for sites, devices, models, versions and times that can't be; outdated if the plan that is
 *   named no longer fits. Nothing is changed then.
 */
export async function createUpgrade(
  ctx: Context,
  tx: Tx,
  scope: SitesScope,
  request: UpgradeRequest,
): Promise<CreatedUpgrade> {
  const prepared = await prepareUpgrade(ctx, tx, scope, request)
  const saveMemory = (): void => (prepared.plans.length < LARGE_PLAN ? undefined : saveMemoryFor(SAVING_MS, 'most'))
  saveMemory()
  const claim = await claimDevices(tx, scope, { request, prepared })
  const fresh = await inTurns(planUpgradeInSteps(request, { ...prepared, ...claim }))
  const upgrade = request.planId === null ? fresh : await usePlan(tx, scope, fresh, prepared.candidates)
  saveMemory()
  await insertUpgrade(tx, scope, upgrade)
  await appendCreation(tx, scope, upgrade, { ...prepared, ...claim })
  const hold = await holdStart(tx, scope, { request, prepared })
  saveMemory()
  return { ...upgrade, ...claim, plans: prepared.plans, hold }
}

/** Pauses an upgrade that may not begin yet with its creation, so that nobody reads it in between. */
async function holdStart(
  tx: Tx,
  { orgId }: InOrg,
  { request: { startGate: gate }, prepared: { id, now, nowMs } }: Wanted,
): Promise<UpgradeHold | null> {
  const wait = findStartWait(gate && { gate, given: 0 })
  if (wait === null) return null
  const hold = holdOf(wait, { now, nowMs })
  const isHeld = await holdUpgrade(tx, systemScope('rollout', orgId), id, { hold, phase: START_PHASE, now })
  return isHeld ? hold : null
}

interface Wanted {
  readonly request: UpgradeRequest
  readonly prepared: PreparedUpgrade
}

interface Claim {
  /** The selected devices that other upgrades keep: mostly none, so that no id of a large fleet is in a further map. */
  readonly busy: Holders
  /** The devices that other upgrades lose to this one. */
  readonly taken: readonly TakenTarget[]
}

/**
 * Assigns the planned devices to the upgrade, except those that another upgrade keeps. Devices that run their version already,
 * and that are taken over, are in no upgrade afterwards.
 */
async function claimDevices(tx: Tx, scope: InOrg, { request, prepared }: Wanted): Promise<Claim> {
  const { id, plans, now, nowMs } = prepared
  const assignmentsOf = createAssignments(prepared)
  const diverted = await listDiverted(tx, scope, plans)
  const claimed = request.supersede ? [...listUpgraded(plans), ...diverted] : []
  // The upgrades are locked before the devices, as by a retry.
  const taken = claimed.length > 0 ? await lockTakeable(tx, scope, claimed) : []
  const takenIds = new Set(taken.map(({ deviceId }) => deviceId))
  if (taken.length > 0) await lockAssignable(tx, scope, { deviceIds: claimed, taken: [...takenIds] })
  const kept = new Set(diverted)
  // The parts are in the order in which devices are locked.
  for (const part of splitRows(plans)) {
    const wanted = assignmentsOf(part)
    const assigned = await assignDevices(tx, scope, wanted, now)
    for (const { deviceId } of wanted) if (!assigned.has(deviceId)) kept.add(deviceId)
  }
  for (const deviceId of takenIds) kept.delete(deviceId)
  const holders = await listHolders(tx, scope, [...kept])
  const busy = new Map([...kept].map((deviceId) => [deviceId, holders.get(deviceId) ?? ANOTHER]))
  if (taken.length === 0) return { busy, taken }
  await reassignDevices(tx, scope, assignmentsOf(plans.filter(({ device }) => takenIds.has(device.id))), now)
  await releaseDevices(
    tx,
    scope,
    diverted.filter((deviceId) => takenIds.has(deviceId)),
    now,
  )
  const taker = { id, request: request.document }
  await updateReleased(tx, scope, taken, { reason: takeoverReason(taker), now, nowMs })
  await appendTakeover(tx, scope, taken, { ...prepared, taker })
  return { busy, taken }
}

/** Appends the events of the upgrades that lose devices. */
async function appendTakeover(
  tx: Tx,
  scope: InOrg,
  taken: readonly TakenTarget[],
  { taker, candidates, now }: Pick<PreparedUpgrade, 'candidates' | 'now'> & { readonly taker: Taker },
): Promise<void> {
  const reason = takeoverReason(taker)
  for (const [orgUpgradeId, some] of Map.groupBy(taken, (target) => target.orgUpgradeId)) {
    const message = takeoverMessage(taker, counted(some.length, 'device'), orgUpgradeId)
    const lost = { type: 'UPGRADE_DEVICES_TAKEN', upgrade_id: orgUpgradeId, total: some.length } as const
    const after = { id: orgUpgradeId, ...presentMacs(some.map(({ mac }) => mac)) }
    await appendUpgradeChange(tx, scope, { ...lost, reason, message, after }, now)
  }
  const siteIds = new Map(candidates.map((device) => [device.id, device.siteId]))
  const placed = taken.map((target) => Object.assign({ siteId: siteIds.get(target.deviceId) }, target))
  await appendReleasedDevices(tx, scope, placed, { reason, now })
}

/** The written upgrade, the plan for each selected device, and the devices that other upgrades keep or lose. */
export interface CreatedUpgrade extends NewUpgrade, Claim {
  readonly plans: readonly Planned[]
  /** The pause with which it begins. */
  readonly hold: UpgradeHold | null
}

async function appendCreation(
  tx: Tx,
  scope: SitesScope,
  { org, sites: parts }: NewUpgrade,
  { plans, busy, sites, now }: PreparedUpgrade & Claim,
): Promise<void> {
  const siteId = siteIdOf(scope)
  const created = {
    type: 'UPGRADE_CREATED',
    upgrade_id: org.id,
    total: org.planned,
    version: org.targetVersion,
    ...(siteId !== null && { site_id: siteId }),
  } as const
  const message = `Upgrade ${counted(org.planned, 'device')} to ${org.targetVersion}`
  const after = { id: org.id, ...org.request, ...(org.notes.length > 0 && { notes: org.notes }) }
  const auditId = await appendUpgradeChange(tx, scope, { ...created, message, after }, now)
  // The engine ends all others.
  if (parts.every(({ dueMs }) => dueMs === null)) {
    const ended = { type: 'UPGRADE_ENDED', upgrade_id: org.id, status: 'completed', total: org.planned } as const
    await appendUpgradeEvents(tx, scope, [ended], now)
  }
  const names = new Map(sites.map(({ id, name }) => [id, name]))
  const starts = new Map(parts.map(({ siteId: id, startAt }) => [id, startAt]))
  const eventsOf = (plan: Planned): DeviceEventInput[] => {
    const { device } = plan
    if (plan.kind !== 'upgrade' || busy.has(device.id)) return []
    const event = { device: deviceOfCandidate(device, names.get(device.siteId) ?? null), auditId }
    const begun: DeviceEventInput = { ...event, what: 'UPGRADE_BY_USER', text: `to ${plan.entry.version}` }
    const startAt = starts.get(device.siteId) ?? now
    if (startAt <= now) return [begun]
    return [begun, { ...event, what: 'UPGRADE_PENDING', text: `until ${startAt.toISOString()}` }]
  }
  await writeParts(splitRows(plans), (part) => appendDeviceEvents(tx, scope, part.flatMap(eventsOf), now))
  wakeAfterCommit(tx, 'rollouts')
}
