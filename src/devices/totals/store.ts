import { sql } from 'kysely'
import type { OrgScope, SitesScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import type { DeviceType } from '../../events/device-type.ts'
import { type Reader, anyOf } from '../../platform/database/db.ts'
import { devicesWithStatus } from '../store-lists.ts'

/** The devices of one type at a site. */
export interface TypeTotals {
  readonly type: DeviceType
  readonly total: number
  readonly connected: number
  /** The wireless clients that the connected ones have reported. */
  readonly clients: number
}

/** Counts the devices of sites by type. A site without devices has no entry. */
export async function countBySite(
  reader: Reader,
  scope: SitesScope,
  siteIds: readonly string[],
): Promise<ReadonlyMap<string, readonly TypeTotals[]>> {
  const { rows } = await sql<TypeTotals & { readonly siteId: string }>`
    select device.site_id, device.type, count(*)::int as total,
      count(*) filter (where status.connected)::int as connected,
      coalesce(sum((known.report->'unit'->>'num_clients')::int) filter (where status.connected), 0)::int as clients
    from ${devicesWithStatus}
      left join device_report known on known.org_id = device.org_id and known.device_id = device.id
        and device.type = 'ap'
    where device.org_id = ${scope.orgId} and device.site_id = ${anyOf(siteIds)}
      and ${inSites(scope, sql`device.site_id`)}
    group by 1, 2
  `.execute(reader)
  return Map.groupBy(rows, ({ siteId }) => siteId)
}

export interface OrgTotals {
  readonly sites: number
  /** All that the organization has claimed. */
  readonly inventory: number
  /** Those in sites. */
  readonly devices: number
  readonly connected: number
}

export async function countInOrg(reader: Reader, { orgId }: OrgScope): Promise<OrgTotals> {
  const { rows } = await sql<OrgTotals>`
    select (select count(*) from site where org_id = ${orgId})::int as sites, count(*)::int as inventory,
      count(device.site_id)::int as devices,
      count(*) filter (where device.site_id is not null and status.connected)::int as connected
    from ${devicesWithStatus} where device.org_id = ${orgId}
  `.execute(reader)
  const [totals] = rows
  if (totals === undefined) throw new Error('unreachable: a query without groups has a row')
  return totals
}
