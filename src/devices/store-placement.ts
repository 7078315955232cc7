import { sql } from 'kysely'
import type { InOrg, SiteScope } from '../access/scope.ts'
import { type Tx, anyOf } from '../platform/database/db.ts'
import { noteChanges } from '../platform/database/changes.ts'
import { columnsOf, rowsAs } from '../platform/database/rows.ts'
import type { DeviceType } from '../events/device-type.ts'

/** The part of a device that maps need. */
export interface MapDevice {
  readonly id: string
  readonly mac: string
  readonly type: DeviceType
  readonly name: string | null
  readonly siteId: string | null
  readonly doc: Record<string, unknown>
}

/** Names by which a bundle may identify devices. */
export interface DeviceNames {
  readonly macs: readonly string[]
  readonly names: readonly string[]
}

/** Locks in the order of ids, as everywhere, to prevent deadlocks. Lock the map first. */
function lockDevices(tx: Tx, orgId: string) {
  return tx
    .selectFrom('device')
    .select(['id', 'mac', 'type', 'name', 'siteId', 'doc'])
    .where('orgId', '=', orgId)
    .orderBy('id')
    .forUpdate()
}

/** @param mapId In the spelling of the database; clients may have written it in capitals. */
export function lockDevicesOnMap(tx: Tx, scope: SiteScope, mapId: string): Promise<MapDevice[]> {
  return lockDevices(tx, scope.orgId)
    .where('siteId', '=', scope.siteId)
    .where(sql<string>`lower(doc ->> 'map_id')`, '=', mapId)
    .where(sql<boolean>`doc ? 'map_id'`)
    .execute()
}

/** Locks devices of the scope's site. */
export function lockSiteDevices(tx: Tx, scope: SiteScope, macs: readonly string[]): Promise<MapDevice[]> {
  return lockDevices(tx, scope.orgId).where('siteId', '=', scope.siteId).where('mac', '=', anyOf(macs)).execute()
}

/**
 * Locks devices of the organization by MAC, and of the scope's site by name.
 * @param claimedSince Only devices claimed at or after this time; null: all.
 */
export function lockCandidates(
  tx: Tx,
  scope: SiteScope,
  { macs, names, claimedSince }: DeviceNames & { readonly claimedSince: Date | null },
): Promise<MapDevice[]> {
  return lockDevices(tx, scope.orgId)
    .$if(claimedSince !== null, (query) => query.where('createdAt', '>=', claimedSince))
    .where((eb) =>
      eb.or([eb('mac', '=', anyOf(macs)), eb.and([eb('siteId', '=', scope.siteId), eb('name', '=', anyOf(names))])]),
    )
    .execute()
}

/** The fields that a device takes on, in wire shape; a null removes a field. */
export interface Placement {
  readonly id: string
  readonly fields: Record<string, unknown>
  /** The new name, where it changes. */
  readonly name?: string
}

const placedColumns = columnsOf('device', { id: 'uuid', name: 'text' }, { fields: 'document' })

/** Updates any number of devices in one statement. The caller has locked them. */
export async function placeDevices(tx: Tx, scope: InOrg, placements: readonly Placement[], at: Date): Promise<void> {
  if (placements.length === 0) return
  const rows = placements.map((placement) => ({ name: null, ...placement }))
  await sql`
    update device set modified_at = ${at}::timestamptz, name = coalesce(placed.name, device.name),
      doc = (device.doc || placed.fields) - array(select key from jsonb_each(placed.fields) where value = 'null')
    from ${rowsAs('placed', placedColumns, rows)}
    where device.org_id = ${scope.orgId}::uuid and device.id = placed.id
  `.execute(tx)
  noteChanges(
    tx,
    'device',
    placements.map(({ id }) => ({ orgId: scope.orgId, id })),
  )
}
