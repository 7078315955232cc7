import type { OrgScope, SiteScope } from '../access/scope.ts'
import { countDevices } from '../devices/store-removal.ts'
import { countRunningMxedgeUpgrades } from '../mxedges/upgrades/store-removal.ts'
import type { Tx } from '../platform/database/db.ts'
import { AppError } from '../platform/errors.ts'
import { countRunningUpgrades } from '../rollout/store-removal.ts'

/** @throws AppError conflict that names, with numbers, what prevents the deletion of the organization or the site. */
export async function assertNothingInTheWay(tx: Tx, scope: OrgScope | SiteScope): Promise<void> {
  const devices = await countDevices(tx, scope)
  const upgrades = (await countRunningUpgrades(tx, scope)) + (await countRunningMxedgeUpgrades(tx, scope))
  if (devices === 0 && upgrades === 0) return
  const [what, way] = 'siteId' in scope ? ['site', 'unassign'] : ['organization', 'unclaim']
  const first = [
    ...(devices > 0 ? [`${countOf(devices, 'device')} (${way} first)`] : []),
    ...(upgrades > 0 ? [`${countOf(upgrades, 'running upgrade')} (cancel, or wait for the end)`] : []),
  ]
  throw new AppError('conflict', `The ${what} still has ${first.join(' and ')}`, { devices, upgrades })
}

function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
