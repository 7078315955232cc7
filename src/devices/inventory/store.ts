import { type RawBuilder, sql } from 'kysely'
import type { OrgScope, SiteScope } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists.ts'
import { type Reader, anyOf } from '../../platform/db.ts'
import type { DeviceType } from '../../platform/schema/devices.ts'
import type { Device } from '../store.ts'
import { pageOf } from '../../http/store-pages.ts'

/** A device of the inventory, or a member of a Virtual Chassis that has no device of its own. */
export interface InventoryItem {
  readonly id: string
  readonly orgId: string
  readonly siteId: string | null
  readonly mac: string
  readonly serial: string
  readonly model: string
  readonly type: DeviceType
  readonly name: string | null
  /** Null for a member: it was claimed with its Virtual Chassis. */
  readonly claimCode: string | null
  readonly createdAt: Date
  readonly modifiedAt: Date
  readonly connected: boolean
  readonly disconnectedAt: Date | null
  /** MAC of the Virtual Chassis it is a member of. */
  readonly vcMac: string | null
}

/** Every filter that is null lets everything pass. */
export interface InventoryFilter {
  readonly serial: string | null
  readonly model: string | null
  readonly type: DeviceType | null
  readonly mac: string | null
  readonly siteId: string | null
  readonly vcMac: string | null
  /** Lists the members of Virtual Chassis too. */
  readonly withMembers: boolean
  readonly onlyUnassigned: boolean
  readonly modifiedAfter: Date | null
  readonly disconnectedBefore: Date | null
}

/** Ordered by MAC. */
export function listInventory(
  reader: Reader,
  scope: OrgScope,
  { filter, page }: { readonly filter: InventoryFilter; readonly page: Page },
): Promise<Paged<InventoryItem>> {
  const hits = sql`select * from (${everything(scope, filter)}) as item where ${every(conditions(scope, filter))}`
  return pageOf<InventoryItem>(reader, hits, page)
}

function everything({ orgId }: OrgScope, { withMembers, vcMac }: InventoryFilter): RawBuilder<unknown> {
  const devices = sql`
    select device.id, device.org_id, device.site_id, device.mac, device.serial, device.model, device.type, device.name,
      device.claim_code, device.created_at, device.modified_at, coalesce(status.connected, false) as connected,
      status.disconnected_at, case when jsonb_array_length(status.members) > 1 then device.mac end as vc_mac
    from device left join device_status status on status.org_id = device.org_id and status.device_id = device.id
    where device.org_id = ${orgId}`
  if (!withMembers && vcMac === null) return devices
  return sql`${devices} union all
    select ('00000000-0000-0000-1000-' || member.mac)::uuid, device.org_id, device.site_id, member.mac, member.serial,
      member.model, device.type, null, null, device.created_at, device.modified_at, status.connected,
      status.disconnected_at, device.mac
    from device join device_status status on status.org_id = device.org_id and status.device_id = device.id
      cross join lateral jsonb_to_recordset(status.members) as member (mac text, serial text, model text)
    where device.org_id = ${orgId} and jsonb_array_length(status.members) > 1 and not exists (
      select from device own where own.org_id = device.org_id and own.mac = member.mac)`
}

function conditions({ siteIds }: OrgScope, filter: InventoryFilter): RawBuilder<unknown>[] {
  const { serial, model, type, mac, siteId, vcMac, onlyUnassigned, modifiedAfter, disconnectedBefore } = filter
  return [
    ...(siteIds === 'all' ? [] : [sql`site_id = ${anyOf(siteIds)}`]),
    ...(serial === null ? [] : [sql`serial = ${serial}`]),
    ...(model === null ? [] : [sql`model = ${model}`]),
    ...(type === null ? [] : [sql`type = ${type}`]),
    ...(mac === null ? [] : [sql`mac = ${mac}`]),
    ...(siteId === null ? [] : [sql`site_id = ${siteId}`]),
    ...(vcMac === null ? [] : [sql`vc_mac = ${vcMac}`]),
    ...(onlyUnassigned ? [sql`site_id is null`] : []),
    ...(modifiedAfter === null ? [] : [sql`modified_at > ${modifiedAfter}`]),
    ...(disconnectedBefore === null ? [] : [sql`not connected and disconnected_at < ${disconnectedBefore}`]),
  ]
}

function every(some: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return some.length === 0 ? sql`true` : sql.join(some, sql` and `)
}

/** MAC and name of each device; ordered by MAC, all of them: the interface has no pages here. */
export function listDeviceNames(reader: Reader, scope: OrgScope): Promise<{ mac: string; name: string | null }[]> {
  let query = reader.selectFrom('device').select(['mac', 'name']).where('orgId', '=', scope.orgId)
  if (scope.siteIds !== 'all') query = query.where('siteId', '=', anyOf(scope.siteIds))
  return query.orderBy('id').execute()
}

export interface SiteDeviceFilter {
  /** Null: every type. */
  readonly type: DeviceType | null
  /** Part of the name, in any case; null: every name. */
  readonly name: string | null
}

/** Ordered by MAC. */
export function listSiteDevices(
  reader: Reader,
  scope: SiteScope,
  { filter, page }: { readonly filter: SiteDeviceFilter; readonly page: Page },
): Promise<Paged<Device>> {
  let hits = reader
    .selectFrom('device')
    .selectAll('device')
    .where('orgId', '=', scope.orgId)
    .where('siteId', '=', scope.siteId)
  if (filter.type !== null) hits = hits.where('type', '=', filter.type)
  if (filter.name !== null) hits = hits.where(sql`strpos(lower(name), lower(${filter.name}))`, '>', 0)
  return pageOf<Device>(reader, hits, page)
}
