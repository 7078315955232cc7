import { type OrgScope, systemScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import { listPackages } from '../../firmware/packages/store.ts'
import { lockCandidates } from '../../mxedges/upgrades/store-create.ts'
import {
  type JoiningLook,
  findExtent,
  insertIncluded,
  insertNotes,
  listDueInclusions,
  listJoining,
  lockIncluding,
  updateInclusion,
} from '../../mxedges/upgrades/store-inclusion.ts'
import type { MxedgeUpgrade } from '../../mxedges/upgrades/store-records.ts'
import { shareOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { databaseFailure } from '../../platform/database/database-failure.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { type Poller, startPoller } from '../../platform/time/poller.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { reasonOf } from '../joining-failures.ts'
import { INCLUDE_MS, NEXT_LOOK_MS } from '../org-upgrade.ts'
import { appendTargetEvents, listPlaces, newTargetOf, shareImages } from './create-mxedge-upgrade.ts'
import {
  type MxedgeInclusion,
  type MxedgeJoining,
  decodeJoining,
  pinPackages,
  planMxedgeInclusion,
} from './plan-joining.ts'
import { limitToWindows } from './plan-places.ts'
import { planSteps } from './plan-steps.ts'

const INTERVAL_MS = 2000
const MAX_AT_ONCE = 20
/** Appliances that one look reads; the next one follows soon. */
const MAX_APPLIANCES = 5000
/** An audit record names no more appliances. */
const MAX_NAMED = 100

/** Adds edge appliances to running upgrades if they have joined, or need them only now. */
export function startMxedgeInclusions(ctx: Context): Poller {
  return startPoller({
    name: 'edge appliances that join upgrades',
    ctx,
    intervalMs: INTERVAL_MS,
    work: () => includeAllMxedges(ctx),
  })
}

/** Makes each upgrade that is due search for further appliances. @returns True if there may be more. */
export async function includeAllMxedges(ctx: Context, maxAppliances = MAX_APPLIANCES): Promise<boolean> {
  const nowMs = ctx.serviceClock.nowMs()
  const due = await listDueInclusions(ctx.db, { nowMs, limit: MAX_AT_ONCE })
  for (const { orgId, id } of due) {
    const scope = systemScope('rollout', orgId)
    try {
      await includePast(ctx, scope, { id, now: ctx.clock.now(), nowMs, maxAppliances })
    } catch (error) {
      ctx.log.error({ err: error, upgrade: id }, 'an upgrade could not take in further edge appliances')
      await inTx(ctx, (tx) => updateInclusion(tx, scope, id, { dueMs: nowMs + INCLUDE_MS }))
    }
  }
  return due.length === MAX_AT_ONCE
}

/**
 * Looks at fewer appliances each time it fails, and passes the one that makes it fail by. The pass goes on
 * a minute later: if many fail, looking for each of them must not keep the service busy. A failure of the database concerns no appliance, and ends the look.
 */
async function includePast(ctx: Context, scope: OrgScope, look: Look): Promise<void> {
  const { id, maxAppliances } = look
  try {
    await inTx(ctx, (tx) => includeNew(tx, scope, look))
  } catch (error) {
    if (databaseFailure(error) !== undefined) throw error
    if (maxAppliances > 1) return includePast(ctx, scope, { ...look, maxAppliances: Math.floor(maxAppliances / 2) })
    ctx.log.error({ err: error, upgrade: id }, 'an upgrade could not take in a further edge appliance')
    await inTx(ctx, (tx) => passBy(tx, scope, look, reasonOf(error)))
  }
}

async function passBy(tx: Tx, scope: OrgScope, { id, nowMs, maxAppliances }: Look, reason: string): Promise<void> {
  const upgrade = await lockIncluding(tx, scope, { id, nowMs })
  if (upgrade === undefined) return
  const { ids, last } = await listJoining(tx, upgrade, maxAppliances)
  await updateInclusion(tx, scope, id, { dueMs: nowMs + INCLUDE_MS, after: last })
  await insertNotes(
    tx,
    upgrade,
    ids.map((mxedgeId) => ({ mxedge_id: mxedgeId, reason })),
  )
}

interface Look {
  readonly id: string
  readonly now: Date
  readonly nowMs: number
  readonly maxAppliances: number
}

async function includeNew(tx: Tx, scope: OrgScope, { id, now, nowMs, maxAppliances }: Look): Promise<void> {
  await shareOrg(tx, scope)
  const upgrade = await lockIncluding(tx, scope, { id, nowMs })
  if (upgrade?.joining == null) return
  const found = await listJoining(tx, upgrade, maxAppliances)
  const inclusion = await planInclusion(tx, scope, { upgrade, joining: decodeJoining(upgrade.joining), found })
  const { last } = found
  await updateInclusion(tx, scope, id, { dueMs: nowMs + (last === null ? INCLUDE_MS : NEXT_LOOK_MS), after: last })
  if (inclusion.targets.length === 0) return
  await shareImages(tx, scope, inclusion.targets)
  const { targets } = inclusion
  await insertIncluded(tx, scope, id, { ...inclusion, targets: targets.map(newTargetOf), nowMs })
  const ids = targets.slice(0, MAX_NAMED).map(({ appliance }) => appliance.id)
  const auditId = await appendAudit(tx, scope, {
    message: `Upgrade ${id} takes in ${targets.length} further edge appliances`,
    siteId: upgrade.siteId,
    after: { id, total: targets.length, mxedge_ids: ids },
    at: now,
  })
  await appendTargetEvents(tx, scope, targets, { auditId, at: now })
  wakeAfterCommit(tx, 'mxedges')
}

interface Wanted {
  readonly upgrade: MxedgeUpgrade
  readonly joining: MxedgeJoining
  readonly found: JoiningLook
}

async function planInclusion(
  tx: Tx,
  scope: OrgScope,
  { upgrade, joining, found: { ids, skipped } }: Wanted,
): Promise<MxedgeInclusion> {
  const candidates = ids.length === 0 ? [] : await lockCandidates(tx, scope, { siteId: upgrade.siteId, ids })
  const extent = await findExtent(tx, upgrade)
  const known = upgrade.plan.windows ?? []
  // The windows of places where the upgrade has appliances are those of its plan, also where there were none.
  const isKnown = new Set([...extent.siteIds, ...known.map((place) => place.site_id)])
  const { places } = await listPlaces(
    tx,
    scope,
    joining,
    candidates.filter((candidate) => !isKnown.has(candidate.siteId)),
  )
  const placeOf = new Map([...known, ...places].map((place) => [place.site_id, place]))
  const catalog = await listPackages(tx, scope)
  const images = new Set(extent.imageIds)
  const planned = candidates.map((appliance) => {
    const pinned = pinPackages(catalog, images, appliance.reported?.distro ?? null)
    const steps = limitToWindows(planSteps(appliance, joining, pinned), placeOf.get(appliance.siteId))
    return Object.assign(steps, { appliance })
  })
  const chosen = planned.filter(({ steps }) => steps.length > 0)
  const used = new Set(chosen.map(({ appliance }) => appliance.siteId))
  const added = places.filter((place) => used.has(place.site_id))
  return planMxedgeInclusion(upgrade, chosen, { joins: joining.joins, extent, places: added, skipped })
}
