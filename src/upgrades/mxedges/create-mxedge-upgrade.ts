import { uuidv7 } from '../../platform/uuidv7.ts'
import { type PlaceScope, siteIdOf } from '../../access/scope.ts'
import { shareSiteName } from '../../devices/store.ts'
import { type MxedgeEventInput, appendMxedgeEvents } from '../../events/append-mxedge.ts'
import { appendHeld, appendMxedgeUpgradeChange } from '../../mxedges/upgrades/append-change.ts'
import { lockImages } from '../../firmware/store.ts'
import { listPackages } from '../../firmware/packages/store.ts'
import type { Candidate } from '../../mxedges/upgrades/candidate.ts'
import { countMxedgeHold, countReleasedMxedges } from '../../mxedges/upgrades/metrics.ts'
import { type NewTarget, type NewUpgrade, insertUpgrade, lockCandidates } from '../../mxedges/upgrades/store-create.ts'
import { publishedNotes } from '../../mxedges/upgrades/notes.ts'
import { type TakenAppliance, listTakeable, lockUnfinishedUpgrades } from '../../mxedges/upgrades/store-takeover.ts'
import { findStartWait } from '../../mxedges/upgrades/decide-wait.ts'
import { type MxedgeUpgradePlan, type PlaceWindows, noCounts } from '../../mxedges/upgrades/upgrade.ts'
import { listWindows } from '../../orgs/org-settings/store.ts'
import { shareOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { counted } from '../../platform/counted.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { AppError, invalidField, notFound } from '../../platform/errors.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import type { UpgradeHold } from '../../rollout/rollout.ts'
import { holdOf } from '../../rollout/gates/decide-wait.ts'
import { noteTaken } from '../../rollout/changes/plan-takeover.ts'
import { refuseEnd } from '../planning/plan-end.ts'
import { refuseTimes } from '../planning/plan-times.ts'
import { decideSearchPause } from '../decide-search-pause.ts'
import { listTimezones } from '../store.ts'
import { encodeJoining } from './plan-joining.ts'
import { type PlannedTarget, planMxedgeUpgrade } from './plan-mxedge-upgrade.ts'
import { type PlannedPlaces, limitToWindows, planPlaces } from './plan-places.ts'
import { leadsAway, planSteps, refuseUnknownVersions } from './plan-steps.ts'
import type { MxedgeUpgradeRequest } from './request.ts'
import { takeOver } from './take-over.ts'
import { useMxedgePlan } from './use-mxedge-plan.ts'

/**
 * Plans an upgrade of edge appliances and writes it: once the transaction commits, the worker carries it out. Appliances
 * that can't be upgraded, or that are in another upgrade, are skipped and noted.
 * @returns Its id.
 * @throws AppError invalid for appliances, versions and times that can't be; nothing is changed then.
 */
export async function createMxedgeUpgrade(
  ctx: Context,
  scope: PlaceScope,
  request: MxedgeUpgradeRequest,
): Promise<string> {
  const id = request.planId ?? uuidv7()
  const { released, hold } = await inTx(ctx, async (tx) => {
    const at = ctx.clock.now()
    const nowMs = ctx.serviceClock.nowMs()
    const fresh = await planAtPlace(tx, scope, { id, request, now: at, nowMs })
    const upgrade = request.planId === null ? fresh.upgrade : await useMxedgePlan(tx, scope, fresh.upgrade, at)
    const planned = { ...fresh, upgrade }
    const lost = await takeOver(tx, scope, planned, { now: at, nowMs })
    await insertUpgrade(tx, scope, upgrade, { at, nowMs })
    await appendRequest(tx, scope, { ...planned, type: 'UPGRADE_CREATED', message: 'Upgrade', at })
    return { released: lost, hold: upgrade.hold }
  })
  countReleasedMxedges(ctx.metrics, released)
  if (hold !== null) countMxedgeHold(ctx.metrics, hold)
  return id
}

/** Plans a new upgrade of the organization or the site that the scope covers; see planUpgrade(). */
export async function planAtPlace(
  tx: Tx,
  scope: PlaceScope,
  planning: Omit<Planning, 'siteId'>,
): Promise<PlannedUpgrade> {
  await shareOrg(tx, scope)
  const siteId = siteIdOf(scope)
  if (siteId !== null && (await shareSiteName(tx, scope, siteId)) === undefined) throw notFound(siteId)
  if (planning.request.supersede) await lockUnfinishedUpgrades(tx, scope)
  return planUpgrade(tx, scope, { ...planning, siteId })
}

export interface PlannedUpgrade {
  readonly upgrade: NewUpgrade
  readonly targets: readonly PlannedTarget[]
  /** The appliances that other upgrades lose to it. */
  readonly taken: readonly TakenAppliance[]
}

interface Planning {
  readonly id: string
  /** The site of the upgrade, even if the caller acts in the whole organization; null: the organization's. */
  readonly siteId: string | null
  readonly request: MxedgeUpgradeRequest
  readonly now: Date
  /** Service time. */
  readonly nowMs: number
}

/** All times of an upgrade of edge appliances are instants, which are the same in every zone. */
const anyPlace = { name: '', timezone: 'UTC' }

/**
 * Plans the upgrade with this id; the appliances that it covers stay locked until `tx` ends. If it takes over those of
 * other upgrades, the caller has locked all unfinished ones.
 */
export async function planUpgrade(
  tx: Tx,
  scope: PlaceScope,
  { id, siteId, request, now, nowMs }: Planning,
): Promise<PlannedUpgrade> {
  const startAt = request.startAt ?? now
  const start = { field: 'start_time', time: { kind: 'instant', at: startAt } } as const
  refuseTimes({ start, reboot: null, notBefore: request.notBefore }, [anyPlace], now)
  const catalog = await listPackages(tx, scope)
  refuseUnknownVersions(request, catalog)
  const candidates = await lockCandidates(tx, scope, { siteId, ids: request.mxedgeIds })
  refuseUnknownMxedges(siteId, request, candidates)
  const busy = candidates.filter(({ upgradeId }) => upgradeId !== null).map((candidate) => candidate.id)
  const takeable = request.supersede ? await listTakeable(tx, scope, busy) : []
  const free = new Set(takeable.map(({ mxedgeId }) => mxedgeId))
  const { places, notes: placeNotes } = await listPlaces(tx, scope, request, candidates)
  const placeOf = new Map(places.map((place) => [place.site_id, place]))
  const chosen = candidates.map((candidate) => {
    const appliance = free.has(candidate.id) ? { ...candidate, upgradeId: null } : candidate
    const steps = limitToWindows(planSteps(appliance, request, catalog), placeOf.get(candidate.siteId))
    return Object.assign(steps, { appliance })
  })
  const { plan: phases, targets, notes } = planMxedgeUpgrade(request, chosen, id)
  const plan = places.length === 0 ? phases : { ...phases, windows: places }
  refuseEarlyEnd(
    request,
    new Map(candidates.map(({ siteId }) => [siteId, placeOf.get(siteId)])),
    startAt > now ? startAt : now,
  )
  await shareImages(tx, scope, targets)
  const skipped = targets.length - plan.planned
  const upgraded = new Set(targets.flatMap(({ reason, appliance }) => (reason === null ? [appliance.id] : [])))
  const currentOf = new Map(chosen.map(({ appliance, current = [] }) => [appliance.id, current]))
  const taken = takeable.filter(
    ({ mxedgeId, steps }) => upgraded.has(mxedgeId) || leadsAway(steps, currentOf.get(mxedgeId) ?? []),
  )
  const upgrade = {
    id,
    siteId,
    request: request.document,
    plan,
    counts: { ...noCounts, planned: plan.planned, skipped },
    notes: [...notes, ...placeNotes, ...noteTaken(taken, 'edge appliance')],
    startAt,
    adminId: scope.actor.adminId,
    hold: planHold(plan, { now, nowMs }),
    joining: encodeJoining(request),
    includeDueMs: request.includeNew ? nowMs + decideSearchPause(request.endsAt, now) : null,
    targets: targets.map(newTargetOf),
  }
  return { upgrade, targets, taken }
}

/** Plans the pause of an upgrade that may not begin yet, so that nobody reads it in between; null: it may begin. */
function planHold(plan: MxedgeUpgradePlan, at: Pick<Planning, 'now' | 'nowMs'>): UpgradeHold | null {
  const wait = plan.planned === 0 ? null : findStartWait({ plan, approvals: [] })
  return wait && holdOf(wait, at)
}

/** @param places The windows of each site with appliances. @param startAt When they begin. */
function refuseEarlyEnd(
  { endsAt, notBefore }: Pick<MxedgeUpgradeRequest, 'endsAt' | 'notBefore'>,
  places: ReadonlyMap<string | null, Pick<PlaceWindows, 'timezone' | 'windows'> | undefined>,
  startAt: Date,
): void {
  const atAnyTime = { timezone: 'UTC', windows: [] }
  const times = [...places.values()].map(({ timezone, windows } = atAnyTime) => {
    return { timezone, windows, rebootAt: startAt }
  })
  refuseEnd({ endsAt, notBefore, units: 'edge appliances' }, times, startAt)
}

export function newTargetOf({ appliance, reason, ...target }: PlannedTarget): NewTarget {
  return {
    ...target,
    mxedgeId: appliance.id,
    name: appliance.name,
    registrationEpoch: appliance.registrationEpoch,
    plannedSiteId: appliance.siteId,
    state: reason === null ? 'planned' : 'skipped',
    reason,
  }
}

/** Plans the maintenance windows of the sites that appliances are at. */
export async function listPlaces(
  tx: Tx,
  scope: PlaceScope,
  request: Pick<MxedgeUpgradeRequest, 'windows'>,
  candidates: readonly Candidate[],
): Promise<PlannedPlaces> {
  const siteIds = [...new Set(candidates.map(({ siteId }) => siteId))]
  const timezones = await listTimezones(
    tx,
    scope,
    siteIds.filter((siteId) => siteId !== null),
  )
  const places = siteIds.map((siteId) => ({ siteId, timezone: (siteId && timezones.get(siteId)) ?? 'UTC' }))
  return planPlaces(request, places, await listWindows(tx, scope, siteIds))
}

/** An image that is being deleted concurrently counts as missing. */
export async function shareImages(tx: Tx, scope: PlaceScope, targets: readonly PlannedTarget[]): Promise<void> {
  const steps = targets.flatMap((target) => target.steps)
  const ids = [...new Set(steps.flatMap((step) => ('service' in step ? [step.image_id] : [])))]
  const held = await lockImages(tx, scope, ids)
  if (held.length < ids.length) throw new AppError('conflict', 'A package of this upgrade has just been deleted')
}

/** The maximum number of appliances that an error text names. */
const MAX_NAMED = 5

function refuseUnknownMxedges(
  siteId: string | null,
  { mxedgeIds }: Pick<MxedgeUpgradeRequest, 'mxedgeIds'>,
  found: readonly Candidate[],
): void {
  const known = new Set(found.map(({ id }) => id))
  const unknown = (mxedgeIds ?? []).filter((id) => !known.has(id))
  if (unknown.length === 0) return
  const place = siteId === null ? 'organization' : 'site'
  const more = unknown.length > MAX_NAMED ? ` and ${unknown.length - MAX_NAMED} more` : ''
  const named = `${unknown.slice(0, MAX_NAMED).join(', ')}${more}`
  throw invalidField('mxedge_ids', `this ${place} has no edge appliance ${named}`)
}

interface Requested extends PlannedUpgrade {
  readonly type: 'UPGRADE_CREATED' | 'UPGRADE_CHANGED'
  /** The beginning of the audit record. */
  readonly message: string
  readonly at: Date
}

/** Appends the audit record of a request and the events of the appliances that it upgrades. */
export async function appendRequest(
  tx: Tx,
  scope: PlaceScope,
  { upgrade, targets, type, message, at }: Requested,
): Promise<void> {
  const { id, siteId, request, plan, notes, hold } = upgrade
  const auditId = await appendMxedgeUpgradeChange(tx, scope, {
    id,
    type,
    message: `${message} ${counted(plan.planned, 'edge appliance')}`,
    siteId,
    after: { total: plan.planned, ...request, ...(notes.length > 0 && { notes: publishedNotes(notes) }) },
    at,
  })
  if (hold?.by === 'approval') await appendHeld(tx, scope, { id, siteId, hold, at })
  await appendTargetEvents(tx, scope, targets, { auditId, at })
  wakeAfterCommit(tx, 'mxedges')
}

/** Appends the events of appliances that get into an upgrade. */
export async function appendTargetEvents(
  tx: Tx,
  scope: PlaceScope,
  targets: readonly PlannedTarget[],
  { auditId, at }: { readonly auditId: string; readonly at: Date },
): Promise<void> {
  const events = targets.flatMap(({ appliance, steps }) =>
    steps.map((step): MxedgeEventInput => {
      const event = { mxedge: { ...appliance, mxclusterId: appliance.clusterId }, auditId }
      if ('distro' in step) return { ...event, type: 'ME_DISTRO_UPGRADE_BY_USER', text: `to ${step.to}` }
      const update = { package: step.service, from: step.from, to: step.to }
      return { ...event, type: 'ME_PACKAGE_UPDATE_BY_USER', update }
    }),
  )
  await appendMxedgeEvents(tx, scope, events, at)
}
