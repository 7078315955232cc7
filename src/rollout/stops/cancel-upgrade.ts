import type { InOrg } from '../../access/scope.ts'
import type { Tx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { isSearching } from '../changes/store-inclusion.ts'
import { type UpgradeChange, appendEndOfSearch, appendUpgradeChange } from '../events/append-events.ts'
import { presentInFlight } from '../events/present-named.ts'
import { type Stop, stopSiteUpgrades } from './store.ts'

/** Why an upgrade, or its part at a site, stops without failures. */
export interface Cancellation extends Pick<Stop, 'reason' | 'at' | 'nowMs'> {
  /** The id of the organization upgrade, which the caller has locked. */
  readonly id: string
  /** Null: the whole upgrade. */
  readonly part: { readonly id: string; readonly siteId: string } | null
  /** Its audit record, and its event, which has no `after`. */
  readonly change: UpgradeChange
}

/**
 * Stops an upgrade as cancelled. Devices that have the image finish, and the audit record names them. Of an upgrade that has
 * ended, nothing changes except that it searches for no further devices.
 */
export async function cancelUpgrade(tx: Tx, scope: InOrg, { id, part, change, ...stop }: Cancellation): Promise<void> {
  const { at } = stop
  const wasSearching = await isSearching(tx, scope, { orgUpgradeId: id, only: part?.id ?? null })
  const only = part !== null && { only: [part.id] }
  const { siteUpgrades, inFlight } = await stopSiteUpgrades(tx, scope, id, { becomes: 'cancelled', ...stop, ...only })
  if (siteUpgrades === 0) {
    const { reason } = change
    if (wasSearching) await appendEndOfSearch(tx, scope, { upgradeId: id, siteId: part?.siteId ?? null, reason, at })
    return
  }
  const after = { ...(part !== null && { site_upgrade_id: part.id }), ...presentInFlight(inFlight) }
  await appendUpgradeChange(tx, scope, { ...change, after }, at)
  wakeAfterCommit(tx, 'rollouts')
}
