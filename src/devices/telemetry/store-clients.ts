import { type RawBuilder, sql } from 'kysely'
import type { InOrg, SiteScope } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { smallRows } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import { type Reader, anyOf } from '../../platform/database/db.ts'
import type { WiredClient, WirelessClient } from './telemetry.ts'

/** The device that reports a client. */
export interface ClientDevice {
  readonly deviceId: string
  readonly mac: string
  readonly siteId: string
  /** True while the rates are those of now. */
  readonly isLive: boolean
}

export interface DeviceClients extends ClientDevice {
  /** Null before the first report in this site: reports from another site are not shown here. */
  readonly clients: { readonly wireless: readonly WirelessClient[]; readonly wired: readonly WiredClient[] } | null
  readonly reportedAt: Date | null
}

/** The wireless clients of a device. */
export interface WirelessClients extends ClientDevice {
  readonly clients: readonly WirelessClient[]
  readonly reportedAt: Date
}

const isLive = sql`coalesce(status.connected and known.reported_at >= status.booted_at, false)`

/** A query, up to its `where`, for devices with what they reported last of their clients at their present site. */
function withClients(clients: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select device.id as device_id, device.mac, device.site_id, ${clients} as clients, known.reported_at, ${isLive} as is_live
    from device
      left join device_report known on known.org_id = device.org_id and known.device_id = device.id
        and known.site_id = device.site_id
      left join device_status status on status.org_id = device.org_id and status.device_id = device.id`
}

/** Returns undefined for a device that is not in the site. */
export async function findClients(
  reader: Reader,
  { orgId, siteId }: SiteScope,
  deviceId: string,
): Promise<DeviceClients | undefined> {
  const { rows } = await sql<DeviceClients>`
    ${withClients(sql`known.clients`)}
    where device.org_id = ${orgId} and device.site_id = ${siteId} and device.id = ${deviceId}
  `.execute(reader)
  return rows[0]
}

/** Lists the wireless clients of those of the devices that are at a site and have reported since they connected. */
export async function listWirelessById(
  reader: Reader,
  { orgId }: InOrg,
  deviceIds: readonly string[],
): Promise<WirelessClients[]> {
  const { rows } = await sql<WirelessClients>`
    ${withClients(sql`known.clients -> 'wireless'`)}
    where device.org_id = ${orgId} and device.id = ${anyOf(deviceIds)} and known.site_id is not null and ${isLive}
  `.execute(reader)
  return rows
}

interface OfDevice<K, C> extends ClientDevice {
  readonly kind: K
  readonly client: C
  readonly reportedAt: Date
}

/** A client with the device that reports it. */
export type FoundClient = OfDevice<'wireless', WirelessClient> | OfDevice<'wired', WiredClient>

/**
 * Lists the clients of the connected devices of a site by their addresses. One that several devices have reported is with the device of
 * the newest report.
 */
export function listSiteClients(
  reader: Reader,
  { orgId, siteId }: SiteScope,
  { kind, page }: { readonly kind: FoundClient['kind']; readonly page: Page },
): Promise<Paged<FoundClient>> {
  const ofKind = withClients(sql`known.clients -> ${kind}`)
  // Without their documents, because all clients of the site are sorted.
  const hits = sql`
    select distinct on (client ->> 'mac') client ->> 'mac' as id, device_id, (place - 1)::integer as place
    from (${ofKind} where device.org_id = ${orgId} and device.site_id = ${siteId} and ${isLive}) as device
      cross join lateral jsonb_array_elements(device.clients) with ordinality as reported (client, place)
    order by client ->> 'mac', reported_at desc, device_id`
  const rows = sql`
    select page.id, ${kind}::text as kind, device.clients -> page.place as client, device.device_id, device.mac, device.site_id,
      device.is_live, device.reported_at
    from page join lateral (${ofKind} where device.org_id = ${orgId} and device.id = page.device_id) as device on true`
  return pageOf<FoundClient>(reader, { hits, rows, reading: 'gathered', sizes: smallRows }, page)
}
