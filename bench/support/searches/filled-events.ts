import { fillOrg, openDatabase } from './filled-org.ts'
import type { Signalbox } from '../signalbox.ts'

export interface FilledEvents {
  readonly siteId: string
  readonly webhookId: string
  readonly adminId: string
  readonly mac: string
}

const DEVICES = 2000
const ADMIN_ID = '00000000-0000-4000-8000-000000000007'

/** Ids of version 7 are in the order of time, too. */
const idOf = (n: string): string => `('00000000-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`
/** Evenly in the last thirty days. */
const AT = `now() - interval '30 days' * (1 - n::float8 / $2)`

/**
 * Inserts the given numbers of device events, system events, audit records and deliveries, spread over the thirty days
 * before now, directly into the database of the server.
 */
export async function fillEvents(signalbox: Signalbox, events: number): Promise<FilledEvents> {
  const { orgId, dataDir } = signalbox
  const { siteId, macs } = await fillOrg(signalbox, DEVICES)
  const { id: webhookId } = (await signalbox.call('POST', `/api/v1/orgs/${orgId}/webhooks`, {
    name: 'Bench',
    url: 'https://receiver.example.test/',
    topics: ['audits'],
    enabled: false,
  })) as { readonly id: string }
  const database = await openDatabase(dataDir)
  try {
    await database.query(
      `create temporary table placed as
       select place, device.id, mac, name, type, site.id as site_id
       from (select *, (row_number() over (order by id) - 1)::integer as place from device) as device
       join (select id, row_number() over (order by id) - 1 as number from site) as site
         on site.number = place % (select count(*) from site)`,
    )
    await database.query(deviceEvents, [orgId, events, DEVICES])
    await database.query(systemEvents, [orgId, events, DEVICES])
    await database.query(auditRecords, [orgId, events, DEVICES])
    await database.query(deliveries, [orgId, events, webhookId])
    // The server's own housekeeping would do this within minutes.
    await database.query('vacuum analyze device_event_row, system_event, audit_log, webhook_delivery')
  } finally {
    await database.end()
  }
  return { siteId, webhookId, adminId: ADMIN_ID, mac: macs[0] ?? '' }
}

const deviceEvents = `
  insert into device_event_row (created_at, id, device_id, org, place, kind, device_name, site_name, apfw, event)
  select ${AT}, ${idOf('n')}, device.id, place.org, place.code, kind.code, device.name, 'Site', '1.' || n % 5,
    jsonb_build_object('text', 'event ' || n % 1000)
  from generate_series(1, $2::integer) as n
  cross join lateral (select (array['CONNECTED', 'DISCONNECTED', 'RESTARTED', 'CONFIG_CHANGED_BY_USER', 'UPGRADED', 'PORT_UP',
    'PORT_DOWN', 'CLAIMED'])[1 + n % 8] as what) as typed
  join placed device on device.place = n::bigint * 7919 % $3
  join device_event_kind kind on kind.device_type = device.type
    and kind.type = case device.type when 'ap' then 'AP_' when 'switch' then 'SW_' else 'GW_' end || what
  join event_place place on place.org_id = $1 and place.site_id = device.site_id
  order by n`

const systemEvents = `
  insert into system_event (org_id, id, site_id, type, text, details, created_at)
  select $1, ${idOf('n')}, case when n % 2 = 0 then device.site_id end, (array['DEVICE_CERTIFICATE_CLONED',
    'DEVICE_SENDS_TOO_MUCH', 'DEVICE_UPTIME_MISSING'])[1 + n % 3], 'Device ' || device.mac || ' reports no uptime',
    jsonb_build_object('mac', device.mac, 'device_type', device.type, 'apfw', '1.' || n % 5), ${AT}
  from generate_series(1, $2::integer) as n join placed device on device.place = n::bigint * 7919 % $3`

const auditRecords = `
  insert into audit_log (org_id, id, site_id, site_name, admin_id, admin_name, message, src_ip, user_agent, before, after, created_at)
  select $1, ${idOf('n')}, case when n % 3 = 0 then device.site_id end, case when n % 3 = 0 then 'Site' end,
    ('00000000-0000-4000-8000-' || lpad(to_hex(n % 20), 12, '0'))::uuid,
    'Admin ' || n % 20 || ' admin' || n % 20 || '@example.test',
    (array['Update Device', 'Add Site', 'Delete Map', 'Update Webhook', 'Login'])[1 + n % 5] || ' "Thing ' || n % 1000 || '"',
    '10.0.0.' || n % 256, 'Mozilla/5.0 (X11; Linux x86_64)', jsonb_build_object('name', 'before ' || n),
    jsonb_build_object('name', 'after ' || n), ${AT}
  from generate_series(1, $2::integer) as n join placed device on device.place = n::bigint * 7919 % $3`

const deliveries = `
  insert into webhook_delivery (org_id, id, webhook_id, message_id, topic, attempt, status, status_code, error, req_url,
    created_at, duration_ms, final)
  select $1, ${idOf('n')}, $3, ${idOf('n')}, (array['audits', 'device-events', 'device-updowns'])[1 + n % 3], 1 + n % 3,
    case when n % 10 = 0 then 'failure' else 'success' end, case when n % 10 > 0 then 200 when n % 20 = 0 then 503 end,
    case when n % 20 = 10 then 'timeout after 10 s' end, 'https://receiver.example.test/', ${AT}, n % 997, n % 10 > 0
  from generate_series(1, $2::integer) as n`
