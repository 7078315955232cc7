import type { Selectable } from 'kysely'
import type { OrgScope, SiteScope } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists.ts'
import { type Reader, anyOf } from '../../platform/db.ts'
import type { DeviceStatusTable, DeviceTable, DeviceType } from '../../platform/schema/devices.ts'
import { pageOf } from '../../http/store-pages.ts'

/** A device with what it last said of itself; null for what it never said. */
export type DeviceStats = Pick<
  Selectable<DeviceTable>,
  'orgId' | 'id' | 'siteId' | 'mac' | 'serial' | 'model' | 'type' | 'name' | 'createdAt' | 'modifiedAt'
> &
  Pick<
    Selectable<DeviceStatusTable>,
    'lastSeenAt' | 'firmware' | 'bootedAt' | 'extIp' | 'members' | 'load' | 'fwupdate' | 'disconnectedAt'
  > & { readonly connected: boolean | null }

export interface StatsFilter {
  readonly siteId: string | null
  readonly type: DeviceType | null
  readonly connected: boolean | null
  readonly mac: string | null
}

/** Ordered by MAC. */
export function listDeviceStats(
  reader: Reader,
  scope: OrgScope,
  { filter, page }: { readonly filter: StatsFilter; readonly page: Page },
): Promise<Paged<DeviceStats>> {
  let hits = selectStats(reader, scope)
  if (scope.siteIds !== 'all') hits = hits.where('device.siteId', '=', anyOf(scope.siteIds))
  if (filter.siteId !== null) hits = hits.where('device.siteId', '=', filter.siteId)
  if (filter.type !== null) hits = hits.where('device.type', '=', filter.type)
  if (filter.mac !== null) hits = hits.where('device.mac', '=', filter.mac)
  if (filter.connected === true) hits = hits.where('status.connected', '=', true)
  if (filter.connected === false) hits = hits.where('status.connected', 'is not', true)
  return pageOf<DeviceStats>(reader, hits, page)
}

export function findDeviceStats(reader: Reader, scope: SiteScope, deviceId: string): Promise<DeviceStats | undefined> {
  return selectStats(reader, scope)
    .where('device.siteId', '=', scope.siteId)
    .where('device.id', '=', deviceId)
    .executeTakeFirst()
}

function selectStats(reader: Reader, scope: OrgScope) {
  return reader
    .selectFrom('device')
    .leftJoin('deviceStatus as status', (join) =>
      join.onRef('status.orgId', '=', 'device.orgId').onRef('status.deviceId', '=', 'device.id'),
    )
    .select([
      'device.orgId',
      'device.id',
      'device.siteId',
      'device.mac',
      'device.serial',
      'device.model',
      'device.type',
      'device.name',
      'device.createdAt',
      'device.modifiedAt',
      'status.connected',
      'status.lastSeenAt',
      'status.disconnectedAt',
      'status.firmware',
      'status.bootedAt',
      'status.extIp',
      'status.members',
      'status.load',
      'status.fwupdate',
    ])
    .where('device.orgId', '=', scope.orgId)
}
