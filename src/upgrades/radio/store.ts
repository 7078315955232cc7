import { type RawBuilder, sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Tx } from '../../platform/database/db.ts'
import { readInPortions } from '../../platform/queues/portions.ts'
import type { HeardCell, RadioFacts, RadioFactsByMac } from './radio.ts'

/** An older scan no longer shows the positions of access points reliably. */
const SCAN_MS = 7 * 24 * 3600e3

interface Row {
  readonly mac: string
  readonly bssids: readonly string[] | null
  readonly scan: readonly HeardCell[] | null
  readonly mapId: string | null
  readonly x: number | null
  readonly y: number | null
  readonly ppm: number | null
  readonly parent: string | null
  readonly isMesh: boolean
}

/** The number in a member of a document, which may be of any type. */
const numberOf = (doc: RawBuilder<unknown>, name: string): RawBuilder<number | null> =>
  sql`case when jsonb_typeof(${doc}->${name}) = 'number' then (${doc}->>${name})::float8 end`

/** Lists the known radio facts of access points, by MAC. A scan that hears a dozen others is more than a kilobyte. */
export async function listRadioFacts(
  tx: Tx,
  { orgId }: InOrg,
  { deviceIds, now }: { readonly deviceIds: readonly string[]; readonly now: Date },
): Promise<RadioFactsByMac> {
  const [doc, map] = [sql`device.doc`, sql`floor.doc`]
  const known = sql<Row>`
    select device.mac, jsonb_path_query_array(known.report, '$.radios[*].bssids[*]') as bssids,
      case when (known.report->'scan'->>'at_s')::float8 >= ${addMs(now, -SCAN_MS).getTime() / 1000}
        then known.report->'scan'->'cells' end as scan,
      floor.id as map_id, ${numberOf(doc, 'x')} as x, ${numberOf(doc, 'y')} as y, ${numberOf(map, 'ppm')} as ppm,
      jsonb_path_query_first(known.report, '$.neighbors[*] ? (@.forwards == true).chassis_id')#>>'{}' as parent,
      coalesce(device.doc @> '{"mesh": {"enabled": true, "role": "remote"}}', false) as is_mesh
    from unnest(${deviceIds}::uuid[]) as wanted (id)
    join device on device.org_id = ${orgId} and device.id = wanted.id
    left join device_report known
      on known.org_id = device.org_id and known.device_id = device.id and known.site_id = device.site_id
    left join site_map floor
      on floor.org_id = device.org_id and floor.site_id = device.site_id and floor.id::text = device.doc->>'map_id'
  `
  const facts = new Map<string, RadioFacts>()
  for await (const rows of readInPortions(tx, known)) for (const row of rows) facts.set(row.mac, factsOf(row))
  return facts
}

function factsOf({ mac, bssids, scan, mapId, x, y, ppm, parent, isMesh }: Row): RadioFacts {
  const isPlaced = mapId !== null && x !== null && y !== null && ppm !== null && ppm > 0
  return {
    bssids: [mac, ...(bssids ?? [])],
    scan,
    position: isPlaced ? { mapId, x: x / ppm, y: y / ppm } : null,
    parent,
    isMesh,
  }
}
