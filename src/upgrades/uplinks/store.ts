import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Reader, anyOf } from '../../platform/database/db.ts'
import type { CabledDevice } from './plan-ranks.ts'

/** Lists the switches and gateways of the sites, with the neighbors that they reported last. */
export async function listCabledDevices(
  reader: Reader,
  { orgId }: InOrg,
  siteIds: readonly string[],
): Promise<CabledDevice[]> {
  if (siteIds.length === 0) return []
  const { rows } = await sql<CabledDevice>`
    select device.mac, device.site_id, device.type,
      coalesce(jsonb_path_query_array(known.report, '$.neighbors[*].mac'), '[]') as neighbors
    from device
    left join device_report known
      on known.org_id = device.org_id and known.device_id = device.id and known.site_id = device.site_id
    where device.org_id = ${orgId} and device.site_id = ${anyOf(siteIds)} and device.type <> 'ap'
    order by device.mac
  `.execute(reader)
  return rows
}
