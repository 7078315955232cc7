import { sql } from 'kysely'
import type { InOrg, SiteScope } from '../../access/scope.ts'
import { type Reader, type Tx, anyOf } from '../../platform/database/db.ts'
import { noteChanges } from '../../platform/database/changes.ts'
import { columnsOf, updateRows } from '../../platform/database/rows.ts'
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

const changedColumns = columnsOf('device', { id: 'uuid', name: 'text', doc: 'document' })

/** Updates any number of devices in one statement. The caller has locked them. */
export async function updateDevices(
  tx: Tx,
  scope: InOrg,
  { devices, at }: { readonly devices: readonly ChangedDevice[]; readonly at: Date },
): Promise<void> {
  await updateRows(tx, changedColumns, devices, {
    key: ['id'],
    set: sql`modified_at = ${at}`,
    where: sql`device.org_id = ${scope.orgId}`,
  })
  noteChanges(
    tx,
    'device',
    devices.map(({ id }) => ({ orgId: scope.orgId, id })),
  )
}
