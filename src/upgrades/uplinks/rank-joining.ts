import type { InOrg } from '../../access/scope.ts'
import type { Tx } from '../../platform/database/db.ts'
import type { IncludedDevice } from '../../rollout/changes/plan-inclusion.ts'
import { listOpenTargets, updateRanks } from '../../rollout/changes/store-inclusion.ts'
import type { Ranks } from './plan-ranks.ts'
import { planSiteRanks } from './plan-site-ranks.ts'
import { listCabledDevices } from './store.ts'

/**
 * Plans the order of restarts again for sites that devices join, including unfinished devices: a device that joins may
 * be connected through one of the others, or one of them through it. The caller has locked the site upgrades.
 */
export async function rankJoining(tx: Tx, scope: InOrg, included: readonly IncludedDevice[]): Promise<Ranks> {
  const siteIds = new Map(included.map(({ upgradeId, device }) => [upgradeId, device.siteId]))
  const open = await listOpenTargets(tx, scope, [...siteIds.keys()])
  const sites = [...siteIds].map(([id, siteId]) => {
    const going = open.filter(({ upgradeId }) => upgradeId === id)
    const joining = included.filter(({ upgradeId }) => upgradeId === id).map(({ device }) => device)
    return { siteId, targets: [...going, ...joining].map(({ mac, type }) => ({ mac, type, siteId })) }
  })
  const mixed = sites.filter(({ targets }) => targets.some(({ type }) => type !== 'ap'))
  const cabled = await listCabledDevices(
    tx,
    scope,
    mixed.map(({ siteId }) => siteId),
  )
  const ranks = planSiteRanks(mixed, cabled)
  const moved = open.flatMap(({ upgradeId, deviceId, mac, rank: before }) => {
    const rank = ranks.get(mac)
    return rank === undefined || rank === before ? [] : [{ upgradeId, deviceId, rank }]
  })
  await updateRanks(tx, scope, moved)
  return ranks
}
