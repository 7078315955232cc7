import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { uuidv7 } from '../../../src/platform/uuidv7.ts'
import { SOCKET_PORT, planSocketDir } from '../../../src/platform/embedded-postgres/socket.ts'
import type { Signalbox } from '../signalbox.ts'

export const DEVICES = 100_000
export const SITES = 100

/** Each model, with how many of a thousand devices have it. */
const models: readonly (readonly [string, number])[] = [
  ['AP45', 400],
  ['AP34', 250],
  ['AP43', 150],
  ['AP63', 100],
  ['EX4100-48P', 70],
  ['SRX300', 30],
]

/** Connects to the embedded database of a server. */
export async function openDatabase(dataDir: string): Promise<pg.Client> {
  const socketDir = planSocketDir(join(await realpath(dataDir), 'postgres'))
  const database = new pg.Client({ host: socketDir, port: SOCKET_PORT, user: 'signalbox', database: 'signalbox' })
  await database.connect()
  return database
}

/**
 * Inserts devices as a claim and a connection leave them, a thousand per site. It writes directly to the database of
 * the server, because the interface would take longer than all the rest of this benchmark.
 */
export async function fillOrg(
  { dataDir, orgId }: Signalbox,
  devices = DEVICES,
): Promise<{ siteId: string; macs: string[] }> {
  const database = await openDatabase(dataDir)
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
      [devices, siteIds, models.flatMap(([model, share]) => Array.from({ length: share }, () => model))],
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
      `insert into device_status (org_id, device_id, connected, connected_at, disconnected_at, last_seen_at, firmware, booted_at, load)
       select $1, id, place % 20 > 0, now(), case when place % 20 = 0 then now() - place * interval '1 second' end, now(),
         (1 + place % 2) || '.' || place / 2 % 5, now(), jsonb_build_object('cpu_percent', place % 97,
         'ip', '10.' || place % 2 || '.' || place / 256 % 256 || '.' || place % 256)
       from (select id, row_number() over (order by id) as place from made) as placed order by random()`,
      [orgId],
    )
    await database.query(
      `insert into device_summary (org_id, device_id, type, band24_channel, band24_bandwidth, band24_power, band5_channel, band5_bandwidth,
         band5_power, eth0_port_speed, lldp_system_name, lldp_system_desc, lldp_port_id, lldp_port_desc, lldp_mgmt_addr,
         active_ports, total_ports, report_bytes)
       select $1, id, type, (array[1, 6, 11])[1 + n % 3], 20, 5 + n % 15, 36 + 4 * (n % 25), 20 << n % 3, 5 + n % 17,
         (array[1000, 2500])[1 + n % 2], 'core-' || n / 24, 'Example switch, 48 ports, release ' || n % 7 || '.' || n % 3,
         'ge-0/0/' || n % 48, 'uplink ' || n, '10.' || 100 + n % 2 || '.' || n / 6144 || '.' || n / 24 % 256, 1, 2, 8192
       from made where type = 'ap' order by random()`,
      [orgId],
    )
    // The server's chore folds changes of values once a minute.
    while ((await database.query('select from device_value_delta limit 1')).rowCount === 1) await delay(1000)
    // The server's own housekeeping would do this within minutes.
    await database.query(
      'vacuum analyze site, device, device_registry, device_status, device_disconnection, device_version, device_fact, device_summary, device_count, device_value_count, device_value_delta',
    )
    const { rows } = await database.query<{ mac: string }>('select mac from made limit 50')
    return { siteId: siteIds[0] ?? '', macs: rows.map(({ mac }) => mac) }
  } finally {
    await database.end()
  }
}
