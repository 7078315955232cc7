import { type RawBuilder, sql } from 'kysely'
import type { SitesScope } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists.ts'
import { smallRows } from '../../http/store-bounds.ts'
import type { Counts } from '../../http/search.ts'
import { type Reader, containing } from '../../platform/db.ts'
import type { DeviceType } from '../../events/device-type.ts'
import { type CountedField, type DeviceFilter, type DeviceSort, countDevicesBy, pageOfDevices } from '../store-lists.ts'

/** A null admits everything. */
export interface HitFilter {
  readonly siteId: string | null
  readonly type: DeviceType | null
  readonly model: string | null
  readonly mac: string | null
  readonly version: string | null
  readonly ip: string | null
  readonly extIp: string | null
  /** Parts of the name, in any case; the name must contain all of them. */
  readonly hostnames: readonly string[]
  readonly mapId: string | null
  readonly managed: boolean | null
  readonly createdUntil: Date | null
  /** True for a filter that no device can match. */
  readonly nothing: boolean
}

export interface DeviceSearch {
  readonly filter: HitFilter
  readonly sort: DeviceSort
}

export interface DeviceHit {
  readonly id: string
  readonly orgId: string
  readonly siteId: string | null
  readonly type: DeviceType
  readonly mac: string
  readonly serial: string
  readonly model: string
  readonly name: string | null
  readonly modifiedAt: Date
  readonly connected: boolean | null
  readonly firmware: string | null
  readonly bootedAt: Date | null
  readonly lastSeenAt: Date | null
  readonly extIp: string | null
  /** As the device reported it. */
  readonly ip: unknown
  readonly numMembers: number | null
  readonly managed: boolean | null
}

/** Searches devices as they are now. */
export function searchDevices(
  reader: Reader,
  scope: SitesScope,
  { filter, sort, page }: DeviceSearch & { readonly page: Page },
): Promise<Paged<DeviceHit>> {
  return pageOfDevices<DeviceHit>(reader, scope, {
    filter: filterOf(filter),
    sort,
    page,
    columns: sql`device.org_id, device.site_id, device.type, device.mac, device.serial, device.model, device.name,
      device.modified_at, status.connected, status.firmware, status.booted_at, status.last_seen_at, status.ext_ip,
      status.load -> 'ip' as ip, jsonb_array_length(status.members) as num_members, device.doc -> 'managed' = 'true' as managed`,
    sizes: smallRows,
  })
}

export interface DeviceCountQuery {
  readonly filter: HitFilter
  /** Null: a field that no device has. */
  readonly field: CountedField | null
  readonly limit: number
}

export async function countDevices(
  reader: Reader,
  scope: SitesScope,
  { filter, field, limit }: DeviceCountQuery,
): Promise<Counts> {
  if (field === null) return { rows: [], total: 0 }
  return countDevicesBy(reader, scope, { filter: filterOf(filter), field, limit })
}

function filterOf({ siteId, type, model, ...rest }: HitFilter): DeviceFilter {
  return { siteId, onlyUnassigned: false, type, model, more: conditions(rest) }
}

function conditions(filter: Omit<HitFilter, 'siteId' | 'type' | 'model'>): RawBuilder<unknown>[] {
  const { mac, version, ip, extIp, hostnames, mapId, managed, createdUntil, nothing } = filter
  return [
    ...(nothing ? [sql`false`] : []),
    ...(mac === null ? [] : [sql`device.mac = ${mac}`]),
    ...(version === null ? [] : [sql`status.firmware = ${version}`]),
    ...(ip === null ? [] : [sql`status.load ->> 'ip' = ${ip}`]),
    ...(extIp === null ? [] : [sql`status.ext_ip = ${extIp}`]),
    ...hostnames.map((part) => sql`device.name ilike ${containing(part)}`),
    ...(mapId === null ? [] : [sql`lower(device.doc ->> 'map_id') = lower(${mapId})`]),
    ...(managed === null ? [] : [sql`coalesce(device.doc ->> 'managed', 'false') = ${String(managed)}`]),
    ...(createdUntil === null ? [] : [sql`device.created_at <= ${createdUntil}`]),
  ]
}
