import { uuidv7 } from '../platform/uuidv7.ts'
import { type OrgScope, systemScope } from '../access/scope.ts'
import { assignDevices } from '../devices/commands/store-upgrades.ts'
import { appendDeviceEvents } from '../events/append.ts'
import { listVersions, lockImages } from '../firmware/store.ts'
import { listWindows } from '../orgs/org-settings/store.ts'
import type { Context } from '../platform/context.ts'
import { counted } from '../platform/counted.ts'
import { type Tx, inTx } from '../platform/database/db.ts'
import { type Poller, startPoller } from '../platform/time/poller.ts'
import { wakeAfterCommit } from '../platform/database/wakes.ts'
import { appendUpgradeChange } from '../rollout/events/append-events.ts'
import { presentMacs } from '../rollout/events/present-named.ts'
import { finalVersionOf, imagesOf, splitImages } from '../rollout/targets/hops/hops.ts'
import { type IncludedDevice, type IncludingSite, planInclusion } from '../rollout/changes/plan-inclusion.ts'
import { insertIncluded, insertNotJoined } from '../rollout/changes/store-included.ts'
import {
  type OpenSite,
  deviceSearches,
  listFree,
  listJoining,
  listModelVersions,
  listOpenSites,
  lockIncludingSites,
} from '../rollout/changes/store-inclusion.ts'
import type { DueInclusion } from '../rollout/changes/store-searches.ts'
import { listReporting } from '../rollout/targets/health/store.ts'
import type { UpgradeNote } from '../rollout/rollout.ts'
import { deleteAwaited } from '../rollout/changes/store-awaited.ts'
import { replaceJoiningFailures } from '../rollout/changes/store-joining-failures.ts'
import { deviceOfCandidate } from '../rollout/store-candidates.ts'
import { type NewSiteUpgrade, insertSiteUpgrades } from '../rollout/store-create.ts'
import { endOf, hasEnded } from '../rollout/stops/decide-end.ts'
import { lockOrgUpgrades } from '../rollout/store.ts'
import { noteUnmet } from './planning/note-unmet.ts'
import { noteJoiningHops } from './planning/plan-hops.ts'
import {
  type Joining,
  type JoiningDevice,
  type JoiningPlan,
  decodeJoining,
  planJoining,
  planNotJoined,
} from './planning/plan-joining.ts'
import { type LaterSites, planLaterSite, planLaterTimes } from './planning/plan-later-sites.ts'
import { decideSearchPause } from './decide-search-pause.ts'
import { type Looked, type Portion, concerningJoining, searchAll } from './search-joining.ts'
import { listLaterSites, shareUpgradeSites } from './store.ts'
import { rankJoining } from './uplinks/rank-joining.ts'

const INTERVAL_MS = 2000
/** Devices that one search reads; the next one follows soon. */
const MAX_DEVICES = 5000

/** Adds devices to running upgrades if they have joined their sites, or match only now. */
export function startInclusions(ctx: Context): Poller {
  return startPoller({
    name: 'devices that join upgrades',
    ctx,
    intervalMs: INTERVAL_MS,
    work: () => includeAll(ctx),
  })
}

/** Makes each upgrade that is due search for further devices. @returns True if there may be more. */
export function includeAll(ctx: Context, maxDevices = MAX_DEVICES): Promise<boolean> {
  return searchAll<DueInclusion, Prepared>(
    ctx,
    {
      joins: 'devices',
      claim: (claim) => deviceSearches.claim(ctx.db, claim),
      prepare: (upgrade) => prepare(ctx, upgrade),
      look: (prepared, portion) => includeNew(ctx, prepared, portion),
      passBy: (prepared, portion, reason) => passBy(ctx, prepared, { ...portion, reason }),
      pauseMs: ({ open: [site] }) => decideSearchPause(endOf(site?.ending ?? {}), ctx.clock.now()),
      update: ({ orgId, id }, next) => deviceSearches.update(ctx.db, systemScope('rollout', orgId), id, next),
    },
    maxDevices,
  )
}

/** The sites of which devices may join an upgrade. */
interface JoiningSites {
  readonly open: readonly OpenSite[]
  /** Upgrades of sites that are new to the upgrade; they are inserted with their first device. */
  readonly later: readonly NewSiteUpgrade[]
}

/** The data that all portions of one search share; it does not depend on the devices that may join. */
interface Prepared extends JoiningSites {
  readonly scope: OrgScope
  /** The id of the organization upgrade. */
  readonly id: string
  readonly joining: Joining
  readonly catalog: Awaited<ReturnType<typeof listVersions>>
}

async function prepare(ctx: Context, { orgId, id, joining: encoded }: DueInclusion): Promise<Prepared | null> {
  const scope = systemScope('rollout', orgId)
  const joining = decodeJoining(encoded)
  const open = await listOpenSites(ctx.db, scope, id)
  if (open.length === 0) return endSearch(ctx, scope, id)
  // The stop at the end of the upgrade, which ends the search, needs a moment, and a service that was down has not made it yet.
  if (open.some(({ ending }) => hasEnded(ending, ctx.clock.now()))) return null
  const { laterSites } = joining
  const later = laterSites === null ? [] : await planLater(ctx, scope, { id, laterSites })
  return { scope, id, joining, open, later, catalog: await listVersions(ctx.db, scope) }
}

const siteIdsOf = ({ open, later }: JoiningSites): string[] => [...open, ...later].map(({ siteId }) => siteId)

/** Adds those of a bounded number of devices that match. */
async function includeNew(ctx: Context, prepared: Prepared, portion: Portion): Promise<Looked> {
  const { scope, id, joining, open, later, catalog } = prepared
  const look = { orgUpgradeId: id, siteIds: siteIdsOf(prepared), ...portion }
  const { candidates, last } = await concerningJoining(() => listJoining(ctx.db, scope, look))
  let planned: JoiningPlan = { joining: [], others: [] }
  if (candidates.length > 0) {
    const models = [...new Set(candidates.map(({ model }) => model))]
    const versions = await listModelVersions(ctx.db, scope, { orgUpgradeId: id, models })
    const sites = [...open, ...later.map((site) => ({ ...site, windows: site.plan.windows ?? null }))]
    planned = await concerningJoining(() => planJoining(joining, candidates, { sites, catalog, versions }))
    if (planned.joining.length > 0) await include(ctx, scope, { id, open, later, devices: planned.joining, joining })
  }
  // One that joins has lost its note. One whose image was deleted in the meantime has not joined, and is planned again.
  const joins = new Set(planned.joining.map(({ device }) => device.id))
  const decided = candidates.filter((candidate) => !joins.has(candidate.id)).map((candidate) => candidate.id)
  await inTx(ctx, async (tx) => {
    await lockOrgUpgrades(tx, scope, [id])
    const awaited = await deleteAwaited(tx, scope, id, decided)
    const notJoined = planNotJoined(awaited, planned.others)
    if (awaited.size > 0) await insertNotJoined(tx, scope, id, { ...notJoined, now: ctx.clock.now() })
    await replaceJoiningFailures(tx, scope, id, { after: portion.after, last, failed: null })
  })
  return { last }
}

/** Records at its site why a device can't join. A site that is new to the upgrade gets its site upgrade for this. */
async function passBy(
  ctx: Context,
  prepared: Prepared,
  { reason, ...portion }: Portion & { readonly reason: string },
): Promise<Looked> {
  const { scope, id, later } = prepared
  const look = { orgUpgradeId: id, siteIds: siteIdsOf(prepared), ...portion }
  // Reading more than their ids may be what fails.
  const { devices, last } = await listFree(ctx.db, scope, look)
  const siteIds = new Set(devices.map(({ siteId }) => siteId))
  return inTx(ctx, async (tx) => {
    const shared = await shareLater(tx, scope, { later, siteIds })
    await lockOrgUpgrades(tx, scope, [id])
    if ((await listOpenSites(tx, scope, id)).length === 0) return { last }
    const added = await keepMissing(tx, scope, { id, sites: shared })
    await insertSiteUpgrades(tx, scope, added, { orgUpgradeId: id, createdAt: ctx.clock.now() })
    const [device] = devices
    const failed = device === undefined ? null : { deviceId: device.id, reason }
    await replaceJoiningFailures(tx, scope, id, { after: portion.after, last, failed })
    return { last }
  })
}

/** Ends the search of an upgrade that has ended at all sites and awaits no device, unless a retry has continued it since. */
function endSearch(ctx: Context, scope: OrgScope, id: string): Promise<null> {
  return inTx(ctx, async (tx) => {
    await lockOrgUpgrades(tx, scope, [id])
    if ((await listOpenSites(tx, scope, id)).length === 0) await deviceSearches.end(tx, scope, id)
    return null
  })
}

/** Plans a site upgrade for each site with devices that was created after the upgrade. */
async function planLater(
  ctx: Context,
  scope: OrgScope,
  { id, laterSites }: { readonly id: string; readonly laterSites: LaterSites },
): Promise<NewSiteUpgrade[]> {
  const sites = await listLaterSites(ctx.db, scope, id)
  const siteIds = sites.map((site) => site.id)
  const ofSites = await listWindows(ctx.db, scope, siteIds)
  const times = planLaterTimes(laterSites, { sites, ofSites, now: ctx.clock.now() })
  return sites.flatMap((site) => {
    const siteTimes = times.get(site.id)
    return siteTimes === undefined ? [] : [planLaterSite(laterSites, { site, upgradeId: uuidv7() }, siteTimes)]
  })
}

interface Inclusion extends JoiningSites {
  /** The id of the organization upgrade. */
  readonly id: string
  readonly devices: readonly JoiningDevice[]
  readonly joining: Pick<Joining, 'joins' | 'downloadsJoin'>
}

function include(ctx: Context, scope: OrgScope, { id, open, later, devices, joining }: Inclusion): Promise<void> {
  const now = ctx.clock.now()
  const nowMs = ctx.serviceClock.nowMs()
  const upgradeIds = new Map([...open, ...later].map((site) => [site.siteId, site.id]))
  return inTx(ctx, async (tx) => {
    // The sites before the upgrades, as by the creation of an upgrade.
    const siteIds = new Set(devices.map(({ device }) => device.siteId))
    const shared = await shareLater(tx, scope, { later, siteIds })
    // The locks have the same order as in the engine and in a retry.
    const [org] = await lockOrgUpgrades(tx, scope, [id])
    if (org === undefined || (await listOpenSites(tx, scope, id)).length === 0) return
    const wanted = devices.flatMap((one): IncludedDevice[] => {
      const upgradeId = upgradeIds.get(one.device.siteId)
      return upgradeId === undefined ? [] : [{ ...one, upgradeId }]
    })
    const locked = await lockIncludingSites(tx, scope, [...new Set(wanted.map(({ upgradeId }) => upgradeId))])
    const added = await keepMissing(tx, scope, { id, sites: shared })
    const siteUpgradeIds = [...locked, ...added].map((site) => site.id)
    const included = await reserve(tx, scope, { id, wanted, siteUpgradeIds, now })
    if (included.length === 0) return
    const begun = added.filter((site) => included.some(({ upgradeId }) => upgradeId === site.id))
    await insertSiteUpgrades(tx, scope, begun, { orgUpgradeId: id, createdAt: now })
    const fresh = await lockIncludingSites(
      tx,
      scope,
      begun.map((site) => site.id),
    )
    const ranks = await rankJoining(tx, scope, included)
    const { joins, downloadsJoin } = joining
    const sites = [...locked, ...fresh]
    const plan = planInclusion(org, sites, { devices: included, joins, downloadsJoin, ranks, nowMs })
    const notes = await noteIncluded(tx, scope, { sites, included })
    await insertIncluded(tx, scope, id, { plan, notes, now, nowMs })
    await appendInclusion(tx, scope, { id, included, now })
    wakeAfterCommit(tx, 'rollouts')
  })
}

/** Returns notes by site upgrade about devices that join: parts of the upgrade that they can't perform, and further reboots. */
async function noteIncluded(
  tx: Tx,
  scope: OrgScope,
  { sites, included }: { readonly sites: readonly IncludingSite[]; readonly included: readonly IncludedDevice[] },
): Promise<ReadonlyMap<string, readonly UpgradeNote[]>> {
  const deviceIds = included.map(({ device }) => device.id)
  const reporting = sites.some(({ plan }) => plan.health) ? await listReporting(tx, scope, deviceIds) : undefined
  const bySite = Map.groupBy(included, ({ upgradeId }) => upgradeId)
  return new Map(
    sites.flatMap(({ id, plan: { snapshot = false, rollback = false, health = false } }) => {
      const mine = bySite.get(id) ?? []
      const plans = mine.map(({ device }) => ({ kind: 'upgrade' as const, device }))
      const notes = [...noteUnmet({ snapshot, rollback, health }, plans, reporting), ...noteJoiningHops(mine)]
      return notes.length === 0 ? [] : [[id, notes]]
    }),
  )
}

/** Prevents the deletion of those of the later sites that are in `siteIds`. @returns Those that still exist. */
async function shareLater(
  tx: Tx,
  scope: OrgScope,
  { later, siteIds }: Pick<JoiningSites, 'later'> & { readonly siteIds: ReadonlySet<string | null> },
): Promise<NewSiteUpgrade[]> {
  const wanted = later.filter(({ siteId }) => siteIds.has(siteId))
  if (wanted.length === 0) return []
  const sites = await shareUpgradeSites(
    tx,
    scope,
    wanted.map(({ siteId }) => siteId),
  )
  const existing = new Set(sites.map((site) => site.id))
  return wanted.filter(({ siteId }) => existing.has(siteId))
}

/** Leaves out those that another worker has inserted. The caller has locked the organization upgrade. */
async function keepMissing(
  tx: Tx,
  scope: OrgScope,
  { id, sites }: { readonly id: string; readonly sites: readonly NewSiteUpgrade[] },
): Promise<readonly NewSiteUpgrade[]> {
  if (sites.length === 0) return []
  const missing = new Set((await listLaterSites(tx, scope, id)).map((site) => site.id))
  return sites.filter(({ siteId }) => missing.has(siteId))
}

/** Assigns the devices to the upgrade, as far as possible. */
async function reserve(
  tx: Tx,
  scope: OrgScope,
  {
    id,
    wanted,
    siteUpgradeIds,
    now,
  }: {
    readonly id: string
    readonly wanted: readonly IncludedDevice[]
    readonly siteUpgradeIds: readonly string[]
    readonly now: Date
  },
): Promise<IncludedDevice[]> {
  const images = new Set(await lockImages(tx, scope, [...new Set(wanted.flatMap(imagesOf))]))
  const possible = wanted.filter(
    (one) => imagesOf(one).every((imageId) => images.has(imageId)) && siteUpgradeIds.includes(one.upgradeId),
  )
  const rows = possible.map((one) => {
    return { deviceId: one.device.id, upgradeId: one.upgradeId, orgUpgradeId: id, ...splitImages(imagesOf(one)) }
  })
  const claimed = await assignDevices(tx, scope, rows, now)
  return possible.filter(({ device }) => claimed.has(device.id))
}

async function appendInclusion(
  tx: Tx,
  scope: OrgScope,
  { id, included, now }: { readonly id: string; readonly included: readonly IncludedDevice[]; readonly now: Date },
): Promise<void> {
  const joined = { type: 'UPGRADE_DEVICES_JOINED', upgrade_id: id, total: included.length } as const
  const message = `Upgrade ${id} takes in ${counted(included.length, 'further device')}`
  const after = { id, ...presentMacs(included.map(({ device }) => device.mac)) }
  const auditId = await appendUpgradeChange(tx, scope, { ...joined, message, after }, now)
  const events = included.map(({ device, ...target }) => {
    return {
      device: deviceOfCandidate(device, null),
      what: 'UPGRADE_BY_USER' as const,
      auditId,
      text: `to ${finalVersionOf(target)}`,
    }
  })
  await appendDeviceEvents(tx, scope, events, now)
}
