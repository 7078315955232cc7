import { noCounts } from '../../../src/rollout/rollout.ts'
import { type RawBuilder, sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { kindOf } from '../../../src/events/device-event-types.ts'
import { eventPlace } from '../../support/database/event-place.ts'
import { addSite } from '../../support/fleets/devices.ts'
import type { TestServer } from '../../support/servers/server.ts'

/** An organization with more rows of each kind than fit a page, all larger than clients can create them today. */
export interface LargeRows {
  /** Values for the parameters of paths. */
  readonly ids: Readonly<Record<string, string>>
}

/** The number of rows of each kind. */
export const ROWS = 34
/** The size of one row: 34 rows exceed the answer of any list. */
const BYTES = 130_000
/** The site upgrades of an upgrade, and the targets of one: lists count 128 and 20 bytes for each of them. */
const SITES = Math.ceil(BYTES / 128)
const TARGETS = BYTES / 20

/** The text of row `n`, which differs from that of every other row. */
const text = sql`repeat('x', ${BYTES}) || n`
const doc = sql`jsonb_build_object('notes', ${text})`
const event = sql`jsonb_build_object('type', 'AP_CONNECTED', 'device_type', 'ap', 'mac', lpad(to_hex(n), 12, '0'), 'text', ${text})`
/** Thousands of privileges, as one that a client created. */
const privileges = sql`(select jsonb_agg(jsonb_build_object('scope', 'org', 'role', 'read', 'views', array['v' || n || '-' || i]))
  from generate_series(1, 2500) i)`
const now = sql`now()`
const id = sql`gen_random_uuid()`

/** Columns of a table by name, with their values in row `n`. */
type Columns = Readonly<Record<string, RawBuilder<unknown> | string>>

async function insert({ ctx }: TestServer, table: string, columns: Columns): Promise<void> {
  const names = Object.keys(columns).map((name) => sql.ref(name))
  const values = Object.values(columns).map((value) => (typeof value === 'string' ? sql`${value}` : value))
  await sql`insert into ${sql.table(table)} (${sql.join(names)})
    select ${sql.join(values)} from generate_series(1, ${sql.lit(ROWS)}) n`.execute(ctx.db)
}

/** The checks of 250,000 rows take as long as their insertion. */
async function dropForeignKeys({ ctx }: TestServer): Promise<void> {
  await sql`alter table site_upgrade drop constraint site_upgrade_org_id_org_upgrade_id_fkey`.execute(ctx.db)
  await sql`alter table upgrade_target drop constraint upgrade_target_org_id_upgrade_id_fkey`.execute(ctx.db)
}

export async function makeLargeRows(server: TestServer): Promise<LargeRows> {
  await dropForeignKeys(server)
  const siteId = await addSite(server, 'Full')
  const ids = { org_id: server.org.orgId, site_id: siteId, site_name: 'Full', sso_id: uuidv7() }
  const made = { created_at: now, modified_at: now }
  const ofOrg = { org_id: uuid(ids.org_id) }
  const ofSite = { ...ofOrg, site_id: uuid(siteId) }
  await insert(server, 'site', { ...ofOrg, id, name: sql`'Site ' || n`, timezone: sql`'UTC'`, doc, ...made })
  await insert(server, 'site_group', { ...ofOrg, id, name: sql`'Group ' || n`, doc, ...made })
  await insert(server, 'site_map', { ...ofSite, id, doc, ...made })
  await insert(server, 'map_stack', { ...ofSite, id, name: sql`'Stack ' || n`, doc, ...made })
  const edge = { name: sql`'Edge ' || n`, model: sql`'ME-VM'`, registration_code: sql`'EDGE-' || n`, doc, ...made }
  await insert(server, 'mxedge', { ...ofSite, id, ...edge })
  await insert(server, 'mxcluster', { ...ofOrg, id, doc, ...made })
  await makeAccess(server, ids)
  await makeHistory(server, ofSite, siteId)
  await makeDevices(server, ofSite)
  return { ids: { ...ids, ...(await makeWebhooks(server, ids)) } }
}

function uuid(value: string): RawBuilder<unknown> {
  return sql`${value}::uuid`
}

async function makeAccess(
  server: TestServer,
  ids: { readonly org_id: string; readonly sso_id: string },
): Promise<void> {
  const ofOrg = { org_id: uuid(ids.org_id) }
  const made = { created_at: now, modified_at: now }
  const sso = { id: sql`case n when 1 then ${uuid(ids.sso_id)} else ${id} end`, domain: sql`'sso' || n` }
  await insert(server, 'sso', { ...ofOrg, ...sso, doc, ...made })
  const failure = { sso_id: uuid(ids.sso_id), detail: sql`'no'`, assertion: text, created_at: now }
  await insert(server, 'sso_failure', { ...ofOrg, id, ...failure })
  await insert(server, 'sso_role', { ...ofOrg, id, name: sql`'Role ' || n`, privileges, ...made })
  const token = { name: sql`'Token ' || n`, key_hash: sql`sha256(n::text::bytea)`, key_hint: sql`'hint'` }
  await insert(server, 'api_token', { id, ...ofOrg, ...token, privileges, created_at: now })
  const invite = { email: sql`'n' || n || '@example.test'`, token_hash: sql`sha256(n::text::bytea)` }
  const given = sql`jsonb_build_object('hours', 24, 'privileges', ${privileges})`
  await insert(server, 'invite', { ...ofOrg, id, ...invite, doc: given, created_at: now, expires_at: now })
  const ofRow = sql`lpad(n::text, 32, '0')::uuid`
  const name = { first_name: sql`'First'`, last_name: sql`'Last'` }
  await insert(server, 'admin', { id: ofRow, email: sql`'a' || n || '@example.test'`, ...name, created_at: now })
  const views = sql`array(select 'view-' || n || '-' || i from generate_series(1, 10000) i)`
  const scope = { scope: sql`'org'`, role: sql`'read'` }
  await insert(server, 'privilege', { ...ofOrg, id, admin_id: ofRow, ...scope, views })
}

async function makeHistory(
  server: TestServer,
  ofSite: { readonly org_id: RawBuilder<unknown>; readonly site_id: RawBuilder<unknown> },
  siteId: string,
): Promise<void> {
  const record = { message: sql`'Update Site ' || n`, before: doc, after: doc, created_at: now }
  await insert(server, 'audit_log', { ...ofSite, id, ...record })
  await insert(server, 'account_log', { admin_id: uuid(server.org.adminId), id, ...record })
  const happened = { type: sql`'AP_CONNECTED'`, event, created_at: now }
  const ofPlace = eventPlace(server.org.orgId, siteId)
  const kind = sql`${sql.lit(kindOf('ap', 'CONNECTED'))}::smallint`
  await insert(server, 'device_event_row', { ...ofPlace, id, device_id: id, kind, event, created_at: now })
  await insert(server, 'mxedge_event', { ...ofSite, id, mxedge_id: id, ...happened, type: sql`'ME_CONNECTED'` })
  const upgrade = { strategy: sql`'big_bang'`, target_version: sql`'2'`, force: sql`false`, enable_p2p: sql`false` }
  const ofRow = sql`lpad(n::text, 32, '0')::uuid`
  const { org_id } = ofSite
  const common = { org_id, created_at: now }
  await insert(server, 'org_upgrade', { ...common, id: ofRow, request: sql`'{}'::jsonb`, planned: sql`0`, ...upgrade })
  await sql`insert into site_upgrade (org_id, id, org_upgrade_id, site_id, status, start_at, reboot_at, plan, counts, total, created_at)
    select ${org_id}, gen_random_uuid(), lpad(n::text, 32, '0')::uuid, gen_random_uuid(), 'completed', now(), now(), '{}', '{}', 0, now()
    from generate_series(1, ${sql.lit(ROWS)}) n, generate_series(1, ${sql.lit(SITES)})`.execute(server.ctx.db)
  await sql`insert into site_upgrade (org_id, id, org_upgrade_id, site_id, status, start_at, reboot_at, plan, counts, total, created_at)
    select ${org_id}, lpad(n::text, 32, '0')::uuid, lpad(n::text, 32, '0')::uuid, ${ofSite.site_id}, 'completed', now(), now(),
      '{}', ${JSON.stringify(noCounts)}::jsonb, ${sql.lit(TARGETS)}, now() from generate_series(1, ${sql.lit(ROWS)}) n`.execute(
    server.ctx.db,
  )
  await sql`insert into upgrade_target (org_id, upgrade_id, device_id, mac, model, phase, ordinal, image_id, target_version,
      force, state, entered_at)
    select ${org_id}, lpad(n::text, 32, '0')::uuid, ('00000000-0000-0000-1000-' || mac)::uuid, mac, 'M', 1, i,
      lpad(n::text, 32, '0')::uuid, '2', false, 'upgraded', now()
    from generate_series(1, ${sql.lit(ROWS)}) n, generate_series(1, ${sql.lit(TARGETS)}) i, lpad(to_hex(i), 12, '0') mac`.execute(
    server.ctx.db,
  )
  await insert(server, 'firmware_image', { ...common, id: ofRow, sha256: sql`n::text`, size_bytes: sql`1` })
  await sql`insert into firmware_version (org_id, model, version, image_id, created_at)
    select ${org_id}, 'M' || i, n || '.' || repeat('x', 190), lpad(n::text, 32, '0')::uuid, now()
    from generate_series(1, ${sql.lit(ROWS)}) n, generate_series(1, 450) i`.execute(server.ctx.db)
}

async function makeDevices(
  server: TestServer,
  ofSite: { readonly org_id: RawBuilder<unknown>; readonly site_id: RawBuilder<unknown> },
): Promise<void> {
  const mac = sql`lpad(to_hex(n), 12, '0')`
  const hardware = {
    id: sql`('00000000-0000-0000-1000-' || ${mac})::uuid`,
    mac,
    serial: mac,
    model: sql`'AP45'`,
    type: sql`'ap'`,
    claim_code: mac,
    created_at: now,
  }
  await insert(server, 'device_registry', { ...hardware, org_id: ofSite.org_id })
  const name = sql`repeat(chr(23383), 200)`
  await insert(server, 'device', { ...ofSite, ...hardware, name, doc, modified_at: now })
  const device = { org_id: ofSite.org_id, device_id: hardware.id }
  // The largest texts and the most addresses that a device can report.
  const lldp = sql`repeat('"', 255)`
  await insert(server, 'device_summary', {
    ...device,
    type: 'ap',
    report_bytes: sql`131072`,
    lldp_system_name: lldp,
    lldp_system_desc: lldp,
    lldp_port_desc: lldp,
    lldp_port_id: sql`repeat('"', 64)`,
    radio_macs: sql`(select jsonb_agg(lpad(to_hex(i), 12, '0')) from generate_series(1, 256) i)`,
  })
  await insert(server, 'device_report', {
    ...device,
    reported_at: now,
    reported_ms: sql`0`,
    report: sql`jsonb_build_object('unit', '{}'::jsonb, 'radios', '[]'::jsonb, 'interfaces', '[]'::jsonb,
      'neighbors', '[]'::jsonb, 'ports', jsonb_build_array(jsonb_build_object('id', repeat('p', 100000) || n)))`,
    clients: sql`'{"wireless": [], "wired": []}'`,
  })
}

async function makeWebhooks(
  server: TestServer,
  { org_id, site_id }: { readonly org_id: string; readonly site_id: string },
): Promise<Record<string, string>> {
  const { ctx } = server
  const hook = { enabled: sql`true`, topics: sql`array['audits']`, created_at: now, modified_at: now }
  const shape = sql`jsonb_build_object('name', 'Hook', 'type', 'http-post', 'url', 'https://example.test/', 'notes', ${text})`
  const keys = { orgHook: uuidv7(), siteHook: uuidv7() }
  const idOf = (own: string) => sql`case n when 1 then ${uuid(own)} else ${id} end`
  await insert(server, 'webhook', { org_id: uuid(org_id), id: idOf(keys.orgHook), ...hook, doc: shape })
  const ofSite = { org_id: uuid(org_id), site_id: uuid(site_id) }
  await insert(server, 'webhook', { ...ofSite, id: idOf(keys.siteHook), ...hook, doc: shape })
  for (const webhookId of Object.values(keys))
    await sql`
      with made as (
        insert into webhook_delivery (org_id, id, webhook_id, message_id, topic, attempt, status, req_url, created_at)
        select ${org_id}::uuid, gen_random_uuid(), ${webhookId}::uuid, gen_random_uuid(), 'audits', 1, 'success', 'https://example.test/', now()
        from generate_series(1, ${sql.lit(ROWS)}) returning org_id, id, created_at)
      insert into webhook_body (org_id, delivery_id, req_headers, req_payload, created_at)
      select org_id, id, '{}', repeat('x', ${BYTES}) || id, created_at from made`.execute(ctx.db)
  return { orgHook: keys.orgHook, siteHook: keys.siteHook }
}
