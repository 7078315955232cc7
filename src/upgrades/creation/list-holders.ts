import type { InOrg } from '../../access/scope.ts'
import { listActiveDevices } from '../../devices/commands/store-upgrades.ts'
import type { Tx } from '../../platform/database/db.ts'
import { nameUpgrade } from '../../rollout/events/name-upgrade.ts'
import { listUpgradeNames } from '../../rollout/events/store.ts'

/** The upgrades that have devices, in words for texts, such as "upgrade 0199c0de-…", by the ids of the devices. */
export type Holders = ReadonlyMap<string, string>

/** Lists the upgrades of those of the devices that one has. */
export async function listHolders(tx: Tx, scope: InOrg, deviceIds: readonly string[]): Promise<Map<string, string>> {
  if (deviceIds.length === 0) return new Map()
  const active = await listActiveDevices(tx, scope, deviceIds)
  const ids = [...new Set(active.flatMap(({ orgUpgradeId }) => orgUpgradeId ?? []))]
  const names = await listUpgradeNames(tx, scope, ids)
  const words = new Map(ids.map((id) => [id, nameUpgrade(`upgrade ${id}`, id, names.get(id) ?? null)]))
  return new Map(active.map(({ deviceId, orgUpgradeId }) => [deviceId, words.get(orgUpgradeId ?? '') ?? ANOTHER]))
}

/** The words for an upgrade that is not known, such as one that has just left its device. */
export const ANOTHER = 'another upgrade'
