import { type Selectable, sql } from 'kysely'
import type { Reader, Tx } from '../../platform/database/db.ts'
import { columnsOf, insertRows } from '../../platform/database/rows.ts'
import { statement } from '../../platform/database/statement.ts'
import type { DeviceOutageTable } from '../tables.ts'

const outageColumns = columnsOf('deviceOutage', {
  orgId: 'uuid',
  deviceId: 'uuid',
  downAt: 'timestamptz',
  dueAt: 'timestamptz',
})

/** The caller has locked the statuses of the devices; this also applies to the functions below. */
export async function insertOutages(tx: Tx, outages: readonly Selectable<DeviceOutageTable>[]): Promise<void> {
  await insertRows(tx, outageColumns, outages, { tail: sql`on conflict do nothing` })
}

/** Lists devices whose outage is due to be reported, the longest overdue first, except the given ones. */
export async function listDueOutages(
  reader: Reader,
  now: Date,
  { limit, except }: { readonly limit: number; readonly except: ReadonlySet<string> },
): Promise<string[]> {
  const rows = await reader
    .selectFrom('deviceOutage')
    .select('deviceId')
    .where('dueAt', '<=', now)
    .where(sql<boolean>`device_id <> all(${[...except]}::uuid[])`)
    .orderBy('dueAt')
    .limit(limit)
    .execute()
  return rows.map(({ deviceId }) => deviceId)
}

/**
 * Deletes the outages of these devices, or only the due ones.
 * @returns For each device, since when it was down.
 */
export async function deleteOutages(
  tx: Tx,
  devices: readonly { readonly orgId: string; readonly deviceId: string }[],
  dueBy?: Date,
): Promise<Map<string, Date>> {
  const rows = await deleteRows(tx, {
    orgIds: [...new Set(devices.map(({ orgId }) => orgId))],
    deviceIds: devices.map(({ deviceId }) => deviceId),
    dueBy: dueBy ?? null,
  })
  return new Map(rows.map(({ deviceId, downAt }) => [deviceId, downAt]))
}

interface OutageKeys {
  readonly orgIds: readonly string[]
  readonly deviceIds: readonly string[]
  /** Null: all of them. */
  readonly dueBy: Date | null
}

const deleteRows = statement<OutageKeys, { deviceId: string; downAt: Date }>(
  (param) => sql`
    delete from device_outage
    where org_id = any(${param('orgIds')}) and device_id = any(${param('deviceIds')})
      and due_at <= coalesce(${param('dueBy')}::timestamptz, 'infinity')
    returning device_id, down_at
  `,
)
