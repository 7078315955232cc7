import type { InOrg } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Tx } from '../../platform/database/db.ts'
import { nameUpgrade } from '../../rollout/events/name-upgrade.ts'
import type { UpgradeHold } from '../../rollout/rollout.ts'
import { listUpgradeNames } from './store-records.ts'

/** A decision of a person or the engine about an upgrade, with the name of the event of upgrades of devices if there is one. */
export type MxedgeUpgradeChangeType =
  | 'UPGRADE_CREATED'
  | 'UPGRADE_PAUSED'
  | 'UPGRADE_RESUMED'
  | 'UPGRADE_CANCELLED'
  | 'UPGRADE_SEARCH_CANCELLED'
  | 'UPGRADE_HELD'
  | 'UPGRADE_APPROVED'
  | 'UPGRADE_CHECK_PASSED'
  | 'UPGRADE_STOPPED'
  | 'UPGRADE_END_REACHED'
  | 'UPGRADE_RETRIED'
  | 'UPGRADE_CHANGED'
  | 'UPGRADE_MXEDGES_JOINED'
  | 'UPGRADE_MXEDGES_TAKEN'
  | 'UPGRADE_MXEDGES_EXCLUDED'

interface MxedgeUpgradeChange {
  /** Of the upgrade. */
  readonly id: string
  readonly siteId?: string | null
  readonly type: MxedgeUpgradeChangeType
  readonly message: string
  readonly before?: Record<string, unknown>
  /** Such as `reason`, and `total` of the appliances that it concerns. */
  readonly after?: Readonly<Record<string, unknown>>
  readonly at: Date
}

/** The beginning of the audit record of a change that only ends the search of an upgrade that has ended. */
export function endOfSearch(id: string): string {
  return `Cancel the search of upgrade ${id} for further edge appliances`
}

interface Held extends Pick<MxedgeUpgradeChange, 'id' | 'siteId' | 'at'> {
  readonly hold: UpgradeHold
}

/** Appends the audit record of a wait at a gate. */
export function appendHeld(tx: Tx, scope: InOrg, { id, hold: { reason }, ...record }: Held): Promise<string> {
  const message = `Hold upgrade ${id} of edge appliances: ${reason}`
  return appendMxedgeUpgradeChange(tx, scope, { ...record, id, type: 'UPGRADE_HELD', after: { reason }, message })
}

/**
 * Appends the audit record of a change of an upgrade, with its type and facts, from which the console makes the timeline.
 * @returns The id of the record.
 */
export async function appendMxedgeUpgradeChange(
  tx: Tx,
  scope: InOrg,
  { id, type, message, after, ...record }: MxedgeUpgradeChange,
): Promise<string> {
  const names = await listUpgradeNames(tx, scope, [id])
  const named = nameUpgrade(message, id, names.get(id) ?? null)
  return appendAudit(tx, scope, { ...record, message: named, after: { id, type, ...after } })
}
