import { sql } from 'kysely'
import type { InOrg, SiteScope } from '../access/scope.ts'
import { type Tx, anyOf, json } from '../platform/db.ts'
import type { DeviceType } from '../events/device-type.ts'

/** A device as far as maps are concerned. */
export interface MapDevice {
  readonly id: string
  readonly mac: string
  readonly type: DeviceType
  readonly name: string | null
  readonly siteId: string | null
  readonly doc: Record<string, unknown>
}

/** By what a bundle may call devices. */
export interface DeviceNames {
  readonly macs: readonly string[]
  readonly names: readonly string[]
}

/** Ordered by id: every caller locks in one order, hence no deadlock. Lock the map first. */
function lockDevices(tx: Tx, orgId: string) {
  return tx
    .selectFrom('device')
    .select(['id', 'mac', 'type', 'name', 'siteId', 'doc'])
    .where('orgId', '=', orgId)
    .orderBy('id')
    .forUpdate()
}

/** @param mapId As the database writes it: clients may have given it in capitals. */
export function lockDevicesOnMap(tx: Tx, scope: SiteScope, mapId: string): Promise<MapDevice[]> {
  return lockDevices(tx, scope.orgId)
    .where('siteId', '=', scope.siteId)
    .where(sql<string>`lower(doc ->> 'map_id')`, '=', mapId)
    .where(sql<boolean>`doc ? 'map_id'`)
    .execute()
}

/** Of the scope's site. */
export function lockSiteDevices(tx: Tx, scope: SiteScope, macs: readonly string[]): Promise<MapDevice[]> {
  return lockDevices(tx, scope.orgId).where('siteId', '=', scope.siteId).where('mac', '=', anyOf(macs)).execute()
}

/**
 * Of the organization by MAC, and of the scope's site by name.
 * @param claimedSince Only devices claimed from then on; null: all.
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

/** What a device takes on, in wire shape; a field that is null goes. */
export interface Placement {
  readonly id: string
  readonly fields: Record<string, unknown>
  /** What it is called from now on, where that changes. */
  readonly name?: string
}

/** One statement, however many devices. */
export async function placeDevices(tx: Tx, scope: InOrg, placements: readonly Placement[], at: Date): Promise<void> {
  if (placements.length === 0) return
  await sql`
    update device set modified_at = ${at}::timestamptz, name = coalesce(placed.name, device.name),
      doc = (device.doc || placed.fields) - array(select key from jsonb_each(placed.fields) where value = 'null')
    from jsonb_to_recordset(${json(placements)}::jsonb) as placed (id uuid, fields jsonb, name text)
    where device.org_id = ${scope.orgId}::uuid and device.id = placed.id
  `.execute(tx)
}
