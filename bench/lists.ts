import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { uuidv7 } from 'uuidv7'
import { SOCKET_PORT, planSocketDir } from '../src/platform/embedded-postgres/socket.ts'
import { type Signalbox, startSignalbox } from './support/signalbox.ts'

/** Measures how long the server takes for a page of a hundred thousand devices, one request at a time. */
const DEVICES = 100_000
const SITES = 100
const ROUNDS = 400
const WARM_UP = 40

/** Each model, with how many of a thousand devices have it. */
const models: readonly (readonly [string, number])[] = [
  ['AP45', 400],
  ['AP34', 250],
  ['AP43', 150],
  ['AP63', 100],
  ['EX4100-48P', 70],
  ['SRX300', 30],
]

export async function run(): Promise<Record<string, unknown>> {
  const signalbox = await startSignalbox()
  try {
    const { siteId, macs } = await fill(signalbox)
    const org = `/api/v1/orgs/${signalbox.orgId}`
    const lists: Record<string, string> = {
      inventory_first_page: `${org}/inventory?limit=100`,
      inventory_middle_page: `${org}/inventory?limit=100&page=${DEVICES / 200}`,
      inventory_last_page: `${org}/inventory?limit=100&page=${DEVICES / 100}`,
      // The request of the Terraform provider.
      inventory_with_members: `${org}/inventory?limit=100&vc=true&unassigned=false&modified_after=0`,
      stats_first_page: `${org}/stats/devices?type=all&limit=100`,
      stats_last_page: `${org}/stats/devices?type=all&limit=100&page=${DEVICES / 100}`,
      search_by_model: `${org}/devices/search?model=AP34&limit=100`,
      search_by_model_last_page: `${org}/devices/search?model=AP34&limit=100&page=${DEVICES / 400}`,
      inventory_search_by_model: `${org}/inventory/search?model=AP34&limit=100`,
      count_distinct_model: `${org}/devices/count?distinct=model`,
      inventory_count_distinct_model: `${org}/inventory/count?distinct=model`,
      search_by_name: `${org}/devices/search?hostname=device+0a1*&limit=100`,
      search_by_name_of_half: `${org}/devices/search?hostname=spare*&limit=100`,
      search_by_part_of_name: `${org}/devices/search?hostname=*0a1b*&limit=100`,
      search_by_mac: `${org}/devices/search?mac=0*&limit=100`,
      search_by_part_of_mac: `${org}/devices/search?mac=*0a1b*&limit=100`,
      search_by_models: `${org}/devices/search?model=AP34,AP63&limit=100`,
      search_by_prefix_of_model: `${org}/devices/search?model=AP*&limit=100`,
      search_by_other_type: `${org}/devices/search?model=SRX*&limit=100`,
      search_by_version_of_half: `${org}/devices/search?version=1.*&limit=100`,
      search_by_versions: `${org}/devices/search?version=1.0,2.0&limit=100`,
      search_by_ip: `${org}/devices/search?ip=10.1.2.*&limit=100`,
      search_by_ip_of_half: `${org}/devices/search?ip=10.0.*&limit=100`,
      search_by_part_of_ip: `${org}/devices/search?ip=*1.2.3*&limit=100`,
      search_all_types: `${org}/devices/search?type=all&limit=100`,
      inventory_search_by_serial: `${org}/inventory/search?serial=S0a1*&limit=100`,
      inventory_search_by_part_of_serial: `${org}/inventory/search?serial=*0a1b*&limit=100`,
      inventory_search_by_text: `${org}/inventory/search?text=0a1b&limit=100`,
      inventory_search_by_name: `${org}/inventory/search?name=0a1b&type=all&limit=100`,
      inventory_by_macs: `${org}/inventory?mac=${macs.join()}&limit=100`,
      inventory_by_prefix_of_serial: `${org}/inventory?serial=S0a1*&limit=100`,
      site_devices_by_name: `/api/v1/sites/${siteId}/devices/search?hostname=*0a*&limit=100`,
      count_by_name: `${org}/devices/count?hostname=*0a1b*`,
    }
    const figures: Record<string, unknown> = {}
    for (const [name, path] of Object.entries(lists)) figures[name] = await measure(signalbox, path)
    return { devices: DEVICES, sites: SITES, rounds: ROUNDS, ...figures }
  } finally {
    await signalbox.stop()
  }
}

/**
 * Inserts devices as a claim and a connection leave them, a thousand per site. It writes directly to the database of
 * the server, because the interface would take longer than all the rest of this benchmark.
 */
async function fill({ dataDir, orgId }: Signalbox): Promise<{ siteId: string; macs: string[] }> {
  const socketDir = planSocketDir(join(await realpath(dataDir), 'postgres'))
  const database = new pg.Client({ host: socketDir, port: SOCKET_PORT, user: 'signalbox', database: 'signalbox' })
  await database.connect()
  try {
    const siteIds = Array.from({ length: SITES }, () => uuidv7())
    await database.query(
      `insert into site (org_id, id, name, timezone, created_at, modified_at)
       select $1, id, 'Site ' || place, 'UTC', now(), now() from unnest($2::uuid[]) with ordinality as new (id, place)`,
      [orgId, siteIds],
    )
    await database.query(
      `create temporary table made as select ('00000000-0000-0000-1000-' || mac)::uuid as id, n, mac, model,
         case when model like 'AP%' then 'ap' when model like 'EX%' then 'switch' else 'gateway' end as type,
         ($2::uuid[])[1 + n / 1000] as site_id, now() - n * interval '1 second' as at
       from (select n, lpad(to_hex((n::bigint * 2654435761) % 281474976710656), 12, '0') as mac,
         ($3::text[])[1 + n % 1000] as model from generate_series(0, $1::integer - 1) as n) as device`,
      [DEVICES, siteIds, models.flatMap(([model, share]) => Array.from({ length: share }, () => model))],
    )
    await database.query(
      `insert into device_registry (id, mac, serial, model, type, claim_code, org_id, created_at)
       select id, mac, 'S' || mac, model, type, 'BEN' || upper(mac), $1, at from made order by random()`,
      [orgId],
    )
    await database.query(
      `insert into device (org_id, id, site_id, mac, serial, model, type, name, claim_code, created_at, modified_at)
       select $1, id, site_id, mac, 'S' || mac, model, type, case when n % 2 = 0 then 'Device ' else 'Spare ' end || mac, 'BEN' || upper(mac), at, at
       from made order by random()`,
      [orgId],
    )
    await database.query(
      `insert into device_status (org_id, device_id, connected, connected_at, last_seen_at, firmware, booted_at, load)
       select $1, id, true, now(), now(), (1 + place % 2) || '.' || place / 2 % 5, now(), jsonb_build_object('ip', '10.' || place % 2 || '.' || place / 256 % 256 || '.' || place % 256)
       from (select id, row_number() over (order by id) as place from made) as placed order by random()`,
      [orgId],
    )
    // The server's own housekeeping would do this within minutes.
    await database.query('vacuum analyze site, device, device_registry, device_status, device_fact, device_count')
    const { rows } = await database.query<{ mac: string }>('select mac from made limit 50')
    return { siteId: siteIds[0] ?? '', macs: rows.map(({ mac }) => mac) }
  } finally {
    await database.end()
  }
}

/**
 * Measures from the first byte of the request to the last byte of the answer, on an open connection, which is slightly
 * more than the time of the server.
 */
async function measure({ url, authorization }: Signalbox, path: string): Promise<Record<string, number>> {
  const took: number[] = []
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    const start = performance.now()
    const answer = await fetch(url + path, { headers: { authorization } })
    const body = await answer.text()
    if (round >= 0) took.push(performance.now() - start)
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${body.slice(0, 200)}`)
  }
  took.sort((a, b) => a - b)
  const at = (share: number): number => Math.round((took[Math.ceil(took.length * share) - 1] ?? Number.NaN) * 10) / 10
  return { p50_ms: at(0.5), p99_ms: at(0.99) }
}
