import { sql } from 'kysely'
import type { DeviceType } from '../../events/device-type.ts'
import type { Tx } from '../../platform/database/db.ts'
import { columnsOf, insertRows, rowsAs } from '../../platform/database/rows.ts'
import type { Hardware } from './hardware.ts'

/** The hardware of a device. */
export interface DeviceHardware {
  readonly orgId: string
  readonly deviceId: string
  readonly type: DeviceType
  readonly hardware: Hardware
}

const keyColumns = columnsOf('deviceHardware', { orgId: 'uuid', deviceId: 'uuid' })
const columns = columnsOf('deviceHardware', { orgId: 'uuid', deviceId: 'uuid', type: 'text', hardware: 'jsonb' })

/** Returns the last hardware of devices whose status is locked, by device. */
export async function listKnownHardware(
  tx: Tx,
  keys: readonly Pick<DeviceHardware, 'orgId' | 'deviceId'>[],
): Promise<Map<string, Hardware>> {
  const { rows } = await sql<Pick<DeviceHardware, 'deviceId' | 'hardware'>>`
    select known.device_id, known.hardware from ${rowsAs('wanted', keyColumns, keys)}
    join device_hardware known on known.org_id = wanted.org_id and known.device_id = wanted.device_id
  `.execute(tx)
  return new Map(rows.map(({ deviceId, hardware }) => [deviceId, hardware]))
}

export async function upsertHardware(tx: Tx, rows: readonly DeviceHardware[]): Promise<void> {
  await insertRows(tx, columns, rows, {
    tail: sql`on conflict (org_id, device_id) do update set hardware = excluded.hardware`,
  })
}
