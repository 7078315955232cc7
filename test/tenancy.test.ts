import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addSite } from './support/devices.ts'
import { type Operation, fetchOpenApi, operationsOf } from './support/openapi.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from './support/server.ts'
import type { Ids, Samples } from './tenancy/area.ts'
import { makeAreas } from './tenancy/areas.ts'
import { upgradeBody } from './tenancy/upgrades.ts'

/** Operations on nothing that belongs to an organization. */
const OF_NOBODY = [
  'getSelf',
  'updateSelf',
  'deleteSelf',
  'updateSelfEmail',
  'verifySelfEmail',
  'confirmSelfEmail',
  'getSelfLoginFailures',
  'getSelfApiUsage',
  'listSelfAuditLogs',
  'generateSecretFor2faVerification',
  'verifyTwoFactor',
  'disableTwoFactor',
  'renewRecoveryCodes',
  'login',
  'twoFactor',
  'lookup',
  'logout',
  'recoverPassword',
  'verifyRecoverPassword',
  'createOrg',
  'listWebhookTopics',
  'listCountryCodes',
  'listStates',
  'listSiteLanguages',
  'listDeviceModels',
  'listDeviceEventsDefinitions',
  'listAlarmDefinitions',
  'listMxEdgeModels',
  'listMxEdgeEventsDefinitions',
  'getAdminRegistrationInfo',
  'registerNewAdmin',
  'verifyRegistration',
  'listApiTokens',
  'createApiToken',
  'getApiToken',
  'updateApiToken',
  'deleteApiToken',
  'verifyAdminInvite',
  'getOauth2UrlForLinking',
  'linkOauth2Account',
  'getOauth2AuthorizationUrlForLogin',
  'loginOauth2',
  'unlinkSelfOauth2Provider',
  'unlinkOauth2Provider',
]

let server: TestServer
let operations: Operation[]
let mine: Ids
let samples: Samples
let stranger: TestOrg
let strangerSiteId: string

beforeAll(async () => {
  server = await startTestServer()
  operations = operationsOf(await fetchOpenApi(server))
  const areas = await makeAreas(server)
  mine = areas.ids
  samples = areas.samples
  stranger = await server.addOrg('Stranger')
  strangerSiteId = await addSite(server, 'Elsewhere', stranger)
})
afterAll(() => server.close())

/** Calls the operation's sample. @param own Ids that take the place of the first organization's. */
function call({ id, method, path }: Operation, as: TestOrg, own: Ids = {}): Promise<Answer> {
  const sample = samples[id]
  if (sample === undefined) throw new Error(`${id} has no sample`)
  const ids = { ...mine, ...sample.ids, ...own }
  const filled = path.replace('/api/v1', '').replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const value = ids[name]
    if (value === undefined) throw new Error(`${id}: no sample of ${name}`)
    return value
  })
  const { query, body, headers } = sample
  return server.call(method, query === undefined ? filled : `${filled}?${query}`, {
    as,
    ...(body !== undefined && { body }),
    ...(headers && { headers }),
  })
}

/** Every operation on something of an organization, in the order of the samples. */
function tenantOperations(): Operation[] {
  const byId = new Map(operations.map((operation) => [operation.id, operation]))
  return Object.keys(samples).flatMap((id) => byId.get(id) ?? [])
}

/** A digest of all rows of each table. */
async function databaseState(): Promise<Record<string, string>> {
  const { db } = server.ctx
  const tables = await sql<{ name: string }>`
    select c.oid::regclass::text as name from pg_class c
    where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace order by 1`.execute(db)
  const state: Record<string, string> = {}
  for (const { name } of tables.rows) {
    const digest = await sql<{ digest: string | null }>`
      select md5(string_agg(row::text, e'\n' order by row::text)) as digest from ${sql.raw(name)} row`.execute(db)
    state[name] = digest.rows[0]?.digest ?? 'empty'
  }
  return state
}

describe('another organization', () => {
  it('has a sample of every operation', () => {
    const expected = operations.map(({ id }) => id).filter((id) => !OF_NOBODY.includes(id))
    expect(Object.keys(samples).sort()).toEqual(expected.sort())
    expect(operations.map(({ id }) => id)).toEqual(expect.arrayContaining(OF_NOBODY))
  })

  it('is told that there is no such thing, whatever it calls, and changes nothing', async () => {
    const before = await databaseState()
    expect(Object.keys(before)).toEqual(
      expect.arrayContaining(['org', 'site', 'device', 'audit_log', 'device_command']),
    )
    for (const operation of tenantOperations()) {
      const answer = await call(operation, stranger)
      expect(answer, operation.id).toMatchObject({ status: 404, body: { detail: 'Not found.' } })
      expect(await databaseState(), operation.id).toEqual(before)
    }
  })

  it('does not reach through its own organization or site', async () => {
    const before = await databaseState()
    const own = { org_id: stranger.orgId, site_id: strangerSiteId }
    const nested = tenantOperations().filter(({ path }) => path.split('{').length > 2)
    expect(nested.length).toBeGreaterThan(10)
    for (const operation of nested) {
      const answer = await call(operation, stranger, own)
      expect(answer, operation.id).toMatchObject({ status: 404, body: { detail: 'Not found.' } })
    }
    expect(await databaseState()).toEqual(before)
  })

  it('does not reach through a body or a query', async () => {
    const before = await databaseState()
    const { orgId } = stranger
    const { site_id: siteId, device_mac: mac = '' } = mine
    const assign = { op: 'assign', site_id: strangerSiteId, macs: [mac] }
    const put = (body: unknown) => server.call('PUT', `/orgs/${orgId}/inventory`, { as: stranger, body })
    expect(await put(assign)).toMatchObject({ status: 400, body: { error: [mac], reason: ['not found'] } })
    expect((await put({ ...assign, site_id: siteId })).status).toBe(404)
    expect(await put({ op: 'delete', macs: [mac] })).toMatchObject({ status: 400, body: { error: [mac] } })
    const upgrade = { ...upgradeBody, all_sites: false, site_ids: [siteId] }
    const started = await server.call('POST', `/orgs/${orgId}/devices/upgrade`, { as: stranger, body: upgrade })
    // A foreign site answers as one that is not there.
    expect(started).toMatchObject({ status: 400, body: { detail: 'invalid field: site_ids.0' } })
    for (const list of ['inventory', 'stats/devices']) {
      const answer = await server.call('GET', `/orgs/${orgId}/${list}?site_id=${siteId}`, { as: stranger })
      expect(answer, list).toMatchObject({ status: 200, body: [] })
    }
    const logs = await server.call('GET', `/orgs/${orgId}/logs?site_id=${siteId}`, { as: stranger })
    expect(logs.body.results).toEqual([])
    expect(await databaseState()).toEqual(before)
  })
})

describe('an administrator who may only read', () => {
  it('reads everything and changes nothing', async () => {
    const reader = await addReader()
    const before = await databaseState()
    for (const operation of tenantOperations()) {
      const answer = await call(operation, reader)
      const expected =
        operation.method === 'GET' && !isInstallers(operation)
          ? { status: 200 }
          : { status: 403, body: { detail: 'You do not have permission to perform this action.' } }
      expect(answer, operation.id).toMatchObject(expected)
    }
    expect(await databaseState()).toEqual(before)
  })
})

/** Reading there is a part of mounting devices, which who may only read does not do. */
function isInstallers({ path }: Operation): boolean {
  return path.startsWith('/api/v1/installer/')
}

/** Reads the organizations of the samples, and has none of their own. */
async function addReader(): Promise<TestOrg> {
  const { db } = server.ctx
  const reader = await server.addOrg('Left behind')
  await db.deleteFrom('privilege').where('adminId', '=', reader.adminId).execute()
  const orgIds = [server.org.orgId, ...Object.values(samples).flatMap(({ ids }) => ids?.['org_id'] ?? [])]
  const privilege = { adminId: reader.adminId, scope: 'org', role: 'read', siteId: null } as const
  await db
    .insertInto('privilege')
    .values(orgIds.map((orgId) => Object.assign({ orgId, id: uuidv7() }, privilege)))
    .execute()
  return reader
}

describe('the owner', () => {
  // Last, because it changes and removes: proves that the samples failed for no other reason.
  it('succeeds with every sample', async () => {
    for (const operation of tenantOperations()) {
      const detail = samples[operation.id]?.refusal
      const expected = detail === undefined ? { status: 200 } : { status: 400, body: { detail } }
      expect(await call(operation, server.org), operation.id).toMatchObject(expected)
    }
  })
})
