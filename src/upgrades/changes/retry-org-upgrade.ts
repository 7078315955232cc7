import { counted } from '../../platform/counted.ts'
import { type PlaceScope, coversOrg } from '../../access/scope.ts'
import { assignDevices } from '../../devices/commands/store-upgrades.ts'
import { lockImages } from '../../firmware/store.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { AppError, invalidField, notFound } from '../../platform/errors.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { imagesOf, splitImages } from '../../rollout/targets/hops/hops.ts'
import { type RetriedSite, findRetryLimit, findRetryRefusal, planRetry } from '../../rollout/changes/plan-retry.ts'
import { appendUpgradeChange } from '../../rollout/events/append-events.ts'
import { presentMacs } from '../../rollout/events/present-named.ts'
import type { UpgradeKind } from '../../rollout/rollout.ts'
import { lockOrgUpgrades } from '../../rollout/store.ts'
import { refuseRetryAtEnd } from '../../rollout/stops/decide-end.ts'
import { releaseGates } from '../../rollout/gates/store-hold.ts'
import {
  type RetriableTarget,
  insertTargetRuns,
  listRetriable,
  lockRetriedSites,
  reopenOrgUpgrade,
  reopenSiteUpgrades,
} from '../../rollout/changes/store-retry.ts'
import { bucketOf } from '../buckets.ts'
import { lockWhole } from './lock-changed.ts'
import { ANOTHER, listHolders } from '../creation/list-holders.ts'
import type { SkippedDevice } from './skipped-device.ts'

export interface Retry {
  /** The number of devices that are retried. */
  readonly retried: number
  readonly skipped: readonly SkippedDevice[]
}

interface Wanted {
  readonly id: string
  readonly kind?: UpgradeKind
  /** Null: all failed devices. */
  readonly macs: readonly string[] | null
}

/**
 * Retries failed devices of an upgrade, running or ended, as another run of their targets. Without a failed device
 * nothing changes.
 * @throws AppError as lockWhole(); invalid after the end of the upgrade, for a device that has not failed, and if the remaining
 *   failures exceed a limit, which would immediately stop the upgrade again. Nothing is changed then.
 */
export function retryOrgUpgrade(
  ctx: Context,
  scope: PlaceScope,
  { id: named, kind = 'device', macs }: Wanted,
): Promise<Retry> {
  const now = ctx.clock.now()
  const nowMs = ctx.serviceClock.nowMs()
  return inTx(ctx, async (tx) => {
    const { id, place } = await lockWhole(tx, scope, { id: named, kind }, 'retried')
    const [org] = await lockOrgUpgrades(tx, scope, [id])
    if (org === undefined) throw notFound(id)
    const sites = await lockRetriedSites(tx, scope, id)
    // All sites have the same end.
    for (const { plan } of sites.slice(0, 1)) refuseRetryAtEnd(plan, now)
    const siteUpgradeIds = sites.map((site) => site.id)
    const wanted = await listRetriable(tx, scope, { siteUpgradeIds, macs })
    if (macs !== null) refuseNotFailed(macs, wanted)
    const { retried, skipped } = await reserve(tx, scope, { wanted, sites, orgUpgradeId: id, now })
    if (retried.length === 0) return { retried: 0, skipped }
    const plan = planRetry(org, sites, retried, { now, nowMs })
    const limit = findRetryLimit(org, sites, plan)
    if (limit !== null) throw new AppError('invalid', `The upgrade would stop again at once: ${limit}`)
    await insertTargetRuns(tx, scope, retried, { by: scope.actor.name, now, nowMs })
    await reopenSiteUpgrades(tx, scope, plan.sites, nowMs)
    await reopenOrgUpgrade(tx, scope, { id, change: plan.org, nowMs })
    if (plan.releasesAll) await releaseGates(tx, scope, id, nowMs)
    const message = `Retry ${counted(retried.length, 'failed device')} of upgrade ${id}`
    const after = { id, ...presentMacs(retried.map(({ mac }) => mac)) }
    const change = { type: 'UPGRADE_RETRIED', ...place, total: retried.length, message, after } as const
    await appendUpgradeChange(tx, scope, change, now)
    wakeAfterCommit(tx, 'rollouts')
    return { retried: retried.length, skipped }
  })
}

function refuseNotFailed(macs: readonly string[], found: readonly RetriableTarget[]): void {
  const byMac = Map.groupBy(found, ({ mac }) => mac)
  for (const [index, mac] of macs.entries()) {
    const targets = byMac.get(mac) ?? []
    const [first] = targets
    if (first === undefined) throw invalidField(`macs.${index}`, `${mac} is not a device of this upgrade`)
    if (first.state !== 'failed')
      throw invalidField(`macs.${index}`, `${mac} has not failed, its state is ${bucketOf(first.state)}`)
  }
}

interface Reservation {
  readonly wanted: readonly RetriableTarget[]
  readonly sites: readonly RetriedSite[]
  readonly orgUpgradeId: string
  readonly now: Date
}

/** Assigns the devices to the upgrade again, as far as possible. */
async function reserve(
  tx: Tx,
  scope: PlaceScope,
  { wanted, sites, orgUpgradeId, now }: Reservation,
): Promise<{ readonly retried: readonly RetriableTarget[]; readonly skipped: readonly SkippedDevice[] }> {
  const refusals = new Map(sites.map((site) => [site.id, findRetryRefusal(site)]))
  const images = new Set(await lockImages(tx, scope, [...new Set(wanted.flatMap(imagesOf))]))
  const checked = wanted.map((target) => {
    const { upgradeId, exists } = target
    const hasImages = imagesOf(target).every((id) => images.has(id))
    const gone = exists ? null : coversOrg(scope) ? 'removed from the organization' : 'no longer at the site'
    const reason = refusals.get(upgradeId) ?? gone ?? (hasImages ? null : 'its firmware image was deleted')
    return { target, reason }
  })
  const possible = checked.filter(({ reason }) => reason === null).map(({ target }) => target)
  const rows = possible.map((target) => {
    const { deviceId, upgradeId } = target
    return { deviceId, upgradeId, orgUpgradeId, ...splitImages(imagesOf(target)) }
  })
  const claimed = await assignDevices(tx, scope, rows, now)
  const kept = rows.flatMap(({ deviceId }) => (claimed.has(deviceId) ? [] : [deviceId]))
  const holders = await listHolders(tx, scope, kept)
  const skipped = checked.flatMap(({ target: { mac, deviceId }, reason }) => {
    if (reason !== null) return [{ mac, reason }]
    return claimed.has(deviceId) ? [] : [{ mac, reason: `in ${holders.get(deviceId) ?? ANOTHER}` }]
  })
  return { retried: possible.filter(({ deviceId }) => claimed.has(deviceId)), skipped }
}
