import { sql } from 'kysely'
import type { InOrg, SiteScope } from '../../access/scope.ts'
import { type Reader, type Tx, anyOf, json } from '../../platform/db.ts'
import { type TableDevice, documentColumns } from './device-table.ts'

/** Lists all devices of the scope's site by MAC: a table has no pages. */
export function listTableDevices(reader: Reader, scope: SiteScope): Promise<TableDevice[]> {
  const doc = sql<TableDevice['doc']>`(select coalesce(jsonb_object_agg(key, value), '{}')
    from jsonb_each(device.doc) where key = ${anyOf(documentColumns)})`
  return reader
    .selectFrom('device')
    .select(['mac', 'serial', 'model', 'type', 'name', doc.as('doc')])
    .where('orgId', '=', scope.orgId)
    .where('siteId', '=', scope.siteId)
    .orderBy('id')
    .execute()
}

export interface ChangedDevice {
  readonly id: string
  readonly name: string | null
  readonly doc: Readonly<Record<string, unknown>>
}

/** Updates any number of devices in one statement. The caller has locked them. */
export async function updateDevices(
  tx: Tx,
  scope: InOrg,
  { devices, at }: { readonly devices: readonly ChangedDevice[]; readonly at: Date },
): Promise<void> {
  if (devices.length === 0) return
  await sql`
    update device set name = changed.name, doc = changed.doc, modified_at = ${at}::timestamptz
    from jsonb_to_recordset(${json(devices)}::jsonb) as changed (id uuid, name text, doc jsonb)
    where device.org_id = ${scope.orgId}::uuid and device.id = changed.id
  `.execute(tx)
}
