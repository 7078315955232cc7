import { type Selectable, sql } from 'kysely'
import type { Reader } from '../../platform/database/db.ts'
import type { DeviceTable } from '../tables.ts'

export type TroubledDevice = Pick<Selectable<DeviceTable>, 'orgId' | 'siteId' | 'mac' | 'name' | 'type'> & {
  readonly firmware: string | null
}

/** Finds a claimed device by its id only: the gateway knows devices before it knows their organizations. */
export async function findTroubledDevice(reader: Reader, deviceId: string): Promise<TroubledDevice | undefined> {
  const { rows } = await sql<TroubledDevice>`
    select device.org_id, device.site_id, device.mac, device.name, device.type, status.firmware
    from device_registry registry
    join device on device.org_id = registry.org_id and device.id = registry.id
    left join device_status status on status.org_id = device.org_id and status.device_id = device.id
    where registry.id = ${deviceId}`.execute(reader)
  return rows[0]
}
