import { type OrgScope, systemScope } from '../../access/scope.ts'
import { appendMxedgeUpgradeChange, endOfSearch } from '../../mxedges/upgrades/append-change.ts'
import { listPackages } from '../../firmware/packages/store.ts'
import type { Candidate } from '../../mxedges/upgrades/candidate.ts'
import { lockCandidates } from '../../mxedges/upgrades/store-create.ts'
import {
  type JoiningLook,
  findExtent,
  insertIncluded,
  listJoining,
  lockIncluding,
  mxedgeSearches,
  updateNotes,
  updateSkipReasons,
} from '../../mxedges/upgrades/store-inclusion.ts'
import { dropLookedAt } from '../../mxedges/upgrades/notes.ts'
import { replaceJoiningFailures } from '../../mxedges/upgrades/store-joining-failures.ts'
import { type MxedgeUpgrade, closeSearch } from '../../mxedges/upgrades/store-records.ts'
import { shareOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { counted } from '../../platform/counted.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { type Poller, startPoller } from '../../platform/time/poller.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { endOf, endReason, hasEnded } from '../../rollout/stops/decide-end.ts'
import { presentMxedgeIds } from '../../rollout/events/present-named.ts'
import { decideSearchPause } from '../decide-search-pause.ts'
import { type DueSearch, type Looked, type Portion, concerningJoining, searchAll } from '../search-joining.ts'
import { appendTargetEvents, listPlaces, newTargetOf, shareImages } from './create-mxedge-upgrade.ts'
import {
  type MxedgeInclusion,
  type MxedgeJoining,
  decodeJoining,
  pinPackages,
  pinVersions,
  planMxedgeInclusion,
} from './plan-joining.ts'
import { limitToWindows } from './plan-places.ts'
import { planSteps } from './plan-steps.ts'

const INTERVAL_MS = 2000
/** Appliances that one search reads; the next one follows soon. */
const MAX_APPLIANCES = 5000

/** Adds edge appliances to upgrades if they have joined, need them only now, or leave other upgrades. */
export function startMxedgeInclusions(ctx: Context): Poller {
  return startPoller({
    name: 'edge appliances that join upgrades',
    ctx,
    intervalMs: INTERVAL_MS,
    work: () => includeAllMxedges(ctx),
  })
}

/** Makes each upgrade that is due search for further appliances. @returns True if there may be more. */
export function includeAllMxedges(ctx: Context, maxAppliances = MAX_APPLIANCES): Promise<boolean> {
  return searchAll(
    ctx,
    {
      joins: 'edge appliances',
      claim: (claim) => mxedgeSearches.claim(ctx.db, claim),
      prepare: (upgrade) => prepare(ctx, upgrade),
      look: (prepared, portion) => inTx(ctx, (tx) => includeNew(ctx, tx, prepared, portion)),
      passBy: (prepared, portion, reason) => inTx(ctx, (tx) => passBy(tx, prepared, { ...portion, reason })),
      // The engine has no rounds for an upgrade that only awaits appliances, so the search at its end closes it.
      pauseMs: ({ endsAt }) => decideSearchPause(endsAt, ctx.clock.now()),
      update: ({ orgId, id }, next) => mxedgeSearches.update(ctx.db, systemScope('rollout', orgId), id, next),
    },
    maxAppliances,
  )
}

/** The data that all portions of one search share; it does not depend on the appliances that may join. */
interface Prepared {
  readonly scope: OrgScope
  /** The id of the upgrade. */
  readonly id: string
  readonly catalog: Awaited<ReturnType<typeof listPackages>>
  readonly endsAt: Date | null
}

async function prepare(ctx: Context, { orgId, id }: DueSearch): Promise<Prepared | null> {
  const scope = systemScope('rollout', orgId)
  const at = ctx.clock.now()
  const plan = await inTx(ctx, async (tx) => {
    const upgrade = await lockIncluding(tx, scope, id)
    if (upgrade !== undefined && !hasEnded(upgrade.plan, at)) return upgrade.plan
    if (upgrade === undefined) await mxedgeSearches.end(tx, scope, id)
    else {
      await closeSearch(tx, upgrade)
      await appendEndOfSearch(tx, scope, { upgrade, at })
    }
    return null
  })
  return plan === null ? null : { scope, id, catalog: await listPackages(ctx.db, scope), endsAt: endOf(plan) }
}

/** The engine records the end of an upgrade that runs. */
async function appendEndOfSearch(
  tx: Tx,
  scope: OrgScope,
  { upgrade: { id, siteId, plan, finishedAt }, at }: { readonly upgrade: MxedgeUpgrade; readonly at: Date },
): Promise<void> {
  const endsAt = endOf(plan)
  if (endsAt === null || finishedAt === null) return
  const reason = endReason(endsAt)
  const message = `${endOfSearch(id)}: ${reason}`
  await appendMxedgeUpgradeChange(tx, scope, {
    id,
    siteId,
    type: 'UPGRADE_SEARCH_CANCELLED',
    message,
    after: { reason },
    at,
  })
}

async function passBy(
  tx: Tx,
  { scope, id }: Prepared,
  { reason, ...portion }: Portion & { readonly reason: string },
): Promise<Looked | null> {
  const upgrade = await lockIncluding(tx, scope, id)
  if (upgrade === undefined) return null
  const { ids, last } = await listJoining(tx, upgrade, portion)
  const [mxedgeId] = ids
  const failed = mxedgeId === undefined ? null : { mxedgeId, reason }
  await replaceJoiningFailures(tx, upgrade, { after: portion.after, last, failed })
  return { last }
}

async function includeNew(
  ctx: Context,
  tx: Tx,
  { scope, id, catalog }: Prepared,
  portion: Portion,
): Promise<Looked | null> {
  await shareOrg(tx, scope)
  const upgrade = await lockIncluding(tx, scope, id)
  // The end may have come since the search began.
  if (upgrade?.joining == null || hasEnded(upgrade.plan, ctx.clock.now())) return null
  const found = await listJoining(tx, upgrade, portion)
  const { ids, last, skipped } = found
  const filter = { siteId: upgrade.siteId, ids }
  const candidates = ids.length === 0 ? [] : await concerningJoining(() => lockCandidates(tx, scope, filter))
  const joining = decodeJoining(upgrade.joining)
  const nowMs = ctx.serviceClock.nowMs()
  const wanted = { upgrade, joining, candidates, skipped, catalog, nowMs }
  const { skipReasons, ...inclusion } = await planInclusion(tx, scope, wanted)
  // Another upgrade may have got some of them while this one waited for their locks.
  const gone = candidates.filter(({ upgradeId }) => upgradeId !== null).map((candidate) => candidate.id)
  const busy = new Set([...found.busy, ...gone])
  const notes = dropLookedAt(inclusion.notes, { after: portion.after, last, busy })
  if (inclusion.targets.length > 0)
    await include(ctx, tx, scope, { upgrade, inclusion: { ...inclusion, notes }, nowMs })
  else if (skipReasons.size > 0 || notes.length < upgrade.notes.length) await updateNotes(tx, upgrade, notes)
  await updateSkipReasons(tx, upgrade, skipReasons)
  await replaceJoiningFailures(tx, upgrade, { after: portion.after, last, failed: null })
  return { last }
}

async function include(
  ctx: Context,
  tx: Tx,
  scope: OrgScope,
  {
    upgrade,
    inclusion,
    nowMs,
  }: {
    readonly upgrade: MxedgeUpgrade
    readonly inclusion: Omit<MxedgeInclusion, 'skipReasons'>
    readonly nowMs: number
  },
): Promise<void> {
  const { id } = upgrade
  const now = ctx.clock.now()
  await shareImages(tx, scope, inclusion.targets)
  const { targets } = inclusion
  await insertIncluded(tx, scope, id, { ...inclusion, targets: targets.map(newTargetOf), nowMs })
  const auditId = await appendMxedgeUpgradeChange(tx, scope, {
    id,
    type: 'UPGRADE_MXEDGES_JOINED',
    message: `Upgrade ${id} takes in ${counted(targets.length, 'further edge appliance')}`,
    siteId: upgrade.siteId,
    after: presentMxedgeIds(targets.map(({ appliance }) => appliance.id)),
    at: now,
  })
  await appendTargetEvents(tx, scope, targets, { auditId, at: now })
  wakeAfterCommit(tx, 'mxedges')
}

interface Wanted extends Pick<JoiningLook, 'skipped'> {
  readonly upgrade: MxedgeUpgrade
  readonly joining: MxedgeJoining
  readonly candidates: readonly Candidate[]
  readonly catalog: Prepared['catalog']
  readonly nowMs: number
}

async function planInclusion(
  tx: Tx,
  scope: OrgScope,
  { upgrade, joining, candidates, skipped, catalog, nowMs }: Wanted,
): Promise<MxedgeInclusion> {
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
  const images = new Set(extent.packages.map(({ imageId }) => imageId))
  const wanted = { ...joining, versions: pinVersions(joining.versions, extent.packages, catalog) }
  const planned = await concerningJoining(() =>
    candidates.map((appliance) => {
      const pinned = pinPackages(catalog, images, appliance.reported?.distro ?? null)
      const steps = limitToWindows(planSteps(appliance, wanted, pinned), placeOf.get(appliance.siteId))
      return Object.assign(steps, { appliance })
    }),
  )
  const { chosen = [], idle = [] } = Object.groupBy(planned, ({ steps }) => (steps.length > 0 ? 'chosen' : 'idle'))
  const used = new Set(chosen.map(({ appliance }) => appliance.siteId))
  const added = places.filter((place) => used.has(place.site_id))
  return planMxedgeInclusion(upgrade, chosen, { joins: joining.joins, idle, extent, places: added, skipped, nowMs })
}
