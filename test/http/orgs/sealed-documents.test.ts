import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addSite, claimNewDevices } from '../../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

/** Part of every secret that the tests write. */
const CANARY = 'canary-in-the-mine'

let secrets = 0
const secret = (): string => `${CANARY}-${(secrets += 1)}`

/** A part of a document that has each kind of secret, at several depths. */
function secretFields(): Record<string, unknown> {
  return {
    vendor: {
      wlans: [{ ssid: 'staff', auth: { type: 'psk', psk: secret() } }, { key: [secret(), secret()] }],
      radius: {
        auth_servers: [{ host: 'radius.test', secret: secret(), keywrap_kek: secret(), keywrap_mack: secret() }],
      },
      ospf: { area: { auth_keys: { 1: secret(), 2: secret() } } },
      snmp: { v2c: [{ community_name: secret(), view: 'all' }], passphrase: secret() },
      proxy: { url: `https://user:${secret()}@proxy.test/`, empty_url: '' },
      requests: { headers: { Authorization: `Bearer ${secret()}` } },
      certificate: { keypair: secret(), key: secret(), apitoken: secret(), psks: [{ passphrase: secret(), vlan: 7 }] },
      numbers: { psks: [JSON.rawJSON('12345678901234567890'), secret()], key: 7, token: null, password: '' },
      forged: { password: `sealed:${secret()}`, url: 'sealed:AA', note: 'sealed:AA' },
    },
  }
}

interface Written {
  /** The path of the object, or of a list with it. */
  readonly path: string
  readonly id: string
  readonly body: Record<string, unknown>
}

/** Writes a document by POST to a list, or by PUT to the object itself. */
async function write(method: 'POST' | 'PUT', path: string, body: Record<string, unknown>): Promise<Written> {
  const { status, body: made } = await server.call(method, path, { body })
  expect({ path, status, made: status === 200 ? 'made' : made }).toEqual({ path, status: 200, made: 'made' })
  return { path: method === 'POST' && !path.endsWith('/mapstacks') ? `${path}/${made.id}` : path, id: made.id, body }
}

async function writeEverywhere(): Promise<Written[]> {
  const org = `/orgs/${server.org.orgId}`
  const siteId = await addSite(server)
  const site = `/sites/${siteId}`
  const devices = [
    ...(await claimNewDevices(server, 1, { siteId })),
    ...(await claimNewDevices(server, 1, { siteId, model: 'EX4100-48P' })),
  ]
  const certificate = { name: 'LDAP', idp_type: 'ldap' }
  return [
    await write('PUT', org, secretFields()),
    await write('PUT', `${org}/setting`, {
      ...secretFields(),
      mxedge_mgmt: { root_password: secret(), mist_password: secret() },
      cloudshark: { apitoken: secret(), url: 'https://cloudshark.test' },
      device_cert: { cert: 'public', key: secret() },
    }),
    await write('PUT', `${site}/setting`, {
      ...secretFields(),
      switch_mgmt: { root_password: secret() },
      radius_config: { auth_servers: [{ host: 'radius.test', secret: secret() }] },
    }),
    await write('PUT', site, secretFields()),
    await write('POST', `${org}/sitegroups`, { name: 'Group', ...secretFields() }),
    await write('POST', `${site}/maps`, {
      name: 'Floor',
      type: 'image',
      ...secretFields(),
      wayfinding: { micello: { account_key: secret() } },
    }),
    await write('POST', `${site}/mapstacks`, { name: 'Building', ...secretFields() }),
    await write('POST', `${org}/mxedges`, {
      name: 'Edge',
      model: 'ME-100',
      ...secretFields(),
      mxedge_mgmt: { root_password: secret(), mist_password: secret() },
    }),
    await write('POST', `${org}/mxclusters`, {
      name: 'Cluster',
      ...secretFields(),
      radsec: { acct_servers: [{ host: 'radius.test', secret: secret() }] },
    }),
    await write('POST', `${org}/webhooks`, {
      name: 'Hook',
      type: 'http-post',
      url: `https://127.0.0.1/hook?token=${secret()}`,
      topics: ['audits'],
      secret: secret(),
      headers: { Authorization: `Bearer ${secret()}` },
    }),
    await write('POST', `${org}/ssos`, { ...certificate, ...secretFields(), ldap_bind_password: secret() }),
    ...(await Promise.all(
      devices.map(({ id }) =>
        write('PUT', `${site}/devices/${id}`, { ...secretFields(), switch_mgmt: { root_password: secret() } }),
      ),
    )),
  ]
}

/** Lists the columns that contain the text, of all tables that are not PostgreSQL's own. */
async function listColumnsWith(text: string): Promise<string[]> {
  const { db } = server.ctx
  const { rows: columns } = await sql<{ schema: string; table: string; column: string; type: string }>`
    select table_schema as schema, table_name as table, column_name as column, udt_name as type
    from information_schema.columns join information_schema.tables using (table_schema, table_name)
    where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')
      and udt_name = any('{text,varchar,jsonb,json,bytea,_text,_jsonb,_bytea}'::text[])
    order by 1, 2, 3`.execute(db)
  expect(columns.length).toBeGreaterThan(100)
  const hits = columns.map(({ schema, table, column, type }) => {
    const part = sql`${text}::text`
    const place =
      type === 'bytea'
        ? sql`position(convert_to(${part}, 'UTF8') in ${sql.ref(column)})`
        : sql`position(${part} in ${sql.ref(column)}::text)`
    const from = sql.table(`${schema}.${table}`)
    return sql`select ${`${table}.${column}`}::text as name where exists (select from ${from} where ${place} > 0)`
  })
  const { rows } = await sql<{ name: string }>`${sql.join(hits, sql` union all `)}`.execute(db)
  return rows.map(({ name }) => name)
}

it('no secret of a document is in any column of any table, and all are returned unchanged', async () => {
  const written = await writeEverywhere()
  expect(await listColumnsWith('staff')).toContain('device.doc')
  expect(await listColumnsWith(CANARY)).toEqual([])
  const documents = await listColumnsWith('sealed:')
  // Clients write no documents into these.
  const internal = new Set(['invite', 'mailed_token', 'pending_registration'])
  const tables = await sql<{ name: string }>`
    select table_name as name from information_schema.columns where column_name = 'doc' order by 1`.execute(
    server.ctx.db,
  )
  const names = tables.rows.map(({ name }) => name).filter((name) => !internal.has(name))
  expect(documents).toEqual(expect.arrayContaining(names.map((name) => `${name}.doc`)))
  for (const { path, id, body } of written) {
    const { body: answer } = await server.call('GET', path)
    const read = Array.isArray(answer) ? answer.find((one) => one.id === id) : answer
    expect({ path, read }).toMatchObject({ path, read: JSON.parse(JSON.stringify(body)) })
  }
})
