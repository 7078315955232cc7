import { join } from 'node:path'
import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sweepFirmwareFiles } from '../src/firmware/storage.ts'
import { addSite, claimNewDevices, connectDevice, makeDevices } from './support/devices.ts'
import { type Operation, fetchOpenApi, operationsOf } from './support/openapi.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from './support/server.ts'

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

/** Ids of one organization's objects, by the name of the path parameter. */
type Ids = Readonly<Record<string, string>>

interface Objects {
  readonly ids: Ids
  /** Of an image that no upgrade uses. */
  readonly spareImageId: string
  readonly siteWebhookId: string
  readonly mac: string
  /** Of a device that nobody has claimed. */
  readonly claimCode: string
}

/** A call that would succeed for who may make it. */
interface Sample {
  readonly body?: unknown
  readonly query?: string
  readonly headers?: Record<string, string>
  /** Where the path needs other ids than its parameters' names say. */
  readonly ids?: Ids
}

const upgradeBody = { all_sites: true, versions: [{ version: '2.0.0' }] }
const orgToken = { name: 'script', privileges: [{ scope: 'org', role: 'read' }] }
const invitation = { email: 'invited@example.test', privileges: [{ scope: 'org', role: 'read' }] }
const hook = { url: 'http://127.0.0.1:9/hook', topics: ['audits'] }

/**
 * One for each operation of the OpenAPI document. In the order in which they are called as the owner,
 * so what removes something comes last.
 */
function samplesFor({ ids, spareImageId, siteWebhookId, mac, claimCode }: Objects): Record<string, Sample> {
  const ofSite = { ids: { webhook_id: siteWebhookId } }
  return {
    getOrg: {},
    updateOrg: { body: { name: 'Changed' } },
    listOrgSites: {},
    createOrgSite: { body: { name: 'New' } },
    getSite: {},
    updateSite: { body: { notes: 'changed' } },
    listOrgAuditLogs: {},
    listOrgAdmins: {},
    updateOrgAdmin: { body: { privileges: [{ scope: 'org', role: 'read' }] } },
    listOrgAdminInvites: {},
    inviteOrgAdmin: { body: invitation },
    updateOrgAdminInvite: { body: { hours: 48 } },
    listOrgApiTokens: {},
    createOrgApiToken: { body: orgToken },
    getOrgApiToken: {},
    updateOrgApiToken: { body: { name: 'changed' } },
    listOrgSsos: {},
    createOrgSso: { body: { name: 'Another company' } },
    getOrgSso: {},
    updateOrgSso: { body: { name: 'changed' } },
    getOrgSamlMetadata: {},
    downloadOrgSamlMetadata: {},
    listOrgSsoLatestFailures: {},
    deleteOrgSsoAdmins: { body: { emails: [] } },
    listOrgSsoRoles: {},
    createOrgSsoRole: { body: { ...orgToken, name: 'another role' } },
    getOrgSsoRole: {},
    updateOrgSsoRole: { body: { name: 'changed' } },
    getOrgSettings: {},
    updateOrgSettings: { body: { ui_idle_timeout: 30 } },
    searchOrgAuditLogs: {},
    getOrgInventory: {},
    addOrgInventory: { body: [claimCode] },
    updateOrgInventoryAssignment: { body: { op: 'assign', site_id: ids['site_id'], macs: [mac] } },
    listOrgDevices: {},
    listSiteDevices: {},
    getSiteDevice: {},
    updateSiteDevice: { body: { name: 'changed' } },
    restartSiteDevice: { body: {} },
    listOrgDevicesStats: {},
    listSiteDevicesStats: {},
    getSiteDeviceStats: {},
    uploadOrgFirmware: {
      query: 'version=9.9.9&models=AP45',
      body: 'another image',
      headers: { 'content-type': 'application/octet-stream' },
    },
    listOrgFirmware: {},
    getOrgFirmware: {},
    listOrgAvailableDeviceVersions: {},
    listSiteAvailableDeviceVersions: {},
    listOrgDeviceUpgrades: {},
    getOrgDeviceUpgrade: {},
    pauseOrgDeviceUpgrade: {},
    resumeOrgDeviceUpgrade: {},
    cancelOrgDeviceUpgrade: {},
    upgradeOrgDevices: { body: upgradeBody },
    listOrgWebhooks: {},
    createOrgWebhook: { body: hook },
    getOrgWebhook: {},
    updateOrgWebhook: { body: { name: 'changed' } },
    pingOrgWebhook: {},
    searchOrgWebhooksDeliveries: {},
    countOrgWebhooksDeliveries: {},
    listSiteWebhooks: {},
    createSiteWebhook: { body: hook },
    getSiteWebhook: ofSite,
    updateSiteWebhook: { ...ofSite, body: { name: 'changed' } },
    pingSiteWebhook: ofSite,
    searchSiteWebhooksDeliveries: ofSite,
    countSiteWebhooksDeliveries: ofSite,
    deleteSiteWebhook: ofSite,
    deleteOrgWebhook: {},
    deleteOrgApiToken: {},
    deleteOrgSso: {},
    deleteOrgSsoRole: {},
    uninviteOrgAdmin: {},
    revokeOrgAdmin: {},
    deleteOrgFirmware: { ids: { image_id: spareImageId } },
  }
}

let server: TestServer
let operations: Operation[]
let mine: Objects
let stranger: TestOrg
let strangerSiteId: string
let samples: Record<string, Sample>

beforeAll(async () => {
  server = await startTestServer()
  operations = operationsOf(await fetchOpenApi(server))
  mine = await makeObjects()
  samples = samplesFor(mine)
  stranger = await server.addOrg('Stranger')
  strangerSiteId = await addSite(server, 'Elsewhere', stranger)
})
afterAll(() => server.close())

async function makeObjects(): Promise<Objects> {
  const { orgId } = server.org
  const siteId = await addSite(server)
  const [device] = await claimNewDevices(server, 1, { siteId })
  const [unclaimed] = await makeDevices(server.ctx, 1)
  if (device === undefined || unclaimed === undefined) throw new Error('no device')
  await connectDevice(server.ctx, device.mac)
  // As start-up does; it makes the folder.
  await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware'), maxBytes: 1024 })
  const image = await create(`/orgs/${orgId}/firmware?version=2.0.0&models=AP45`, 'an image')
  const spare = await create(`/orgs/${orgId}/firmware?version=3.0.0&models=AP45`, 'a spare image')
  const upgrade = await create(`/orgs/${orgId}/devices/upgrade`, upgradeBody)
  const orgHook = await create(`/orgs/${orgId}/webhooks`, hook)
  const siteHook = await create(`/sites/${siteId}/webhooks`, hook)
  const ids = { org_id: orgId, site_id: siteId, device_id: device.id, image_id: image, upgrade_id: upgrade }
  const token = await create(`/orgs/${orgId}/apitokens`, orgToken)
  const invite = await create(`/orgs/${orgId}/invites`, invitation)
  const accounts = { apitoken_id: token, invite_id: invite, admin_id: await addColleague() }
  const sso = await create(`/orgs/${orgId}/ssos`, { name: 'Company' })
  const ssoRole = await create(`/orgs/${orgId}/ssoroles`, { ...orgToken, name: 'role' })
  return {
    ids: { ...ids, ...accounts, sso_id: sso, ssorole_id: ssoRole, webhook_id: orgHook },
    spareImageId: spare,
    siteWebhookId: siteHook,
    mac: device.mac,
    claimCode: unclaimed.claim_code,
  }
}

/** A further admin of the first organization. */
async function addColleague(): Promise<string> {
  const { adminId } = await server.addOrg('Of a colleague')
  const privilege = { orgId: server.org.orgId, id: uuidv7(), adminId }
  await server.ctx.db
    .insertInto('privilege')
    .values({ ...privilege, scope: 'org', role: 'write', siteId: null })
    .execute()
  return adminId
}

/** @returns The id of what was made. */
async function create(path: string, body: unknown): Promise<string> {
  const headers: Record<string, string> = typeof body === 'string' ? { 'content-type': 'application/octet-stream' } : {}
  const answer = await server.call('POST', path, { body, headers })
  expect(answer, path).toMatchObject({ status: 200 })
  return answer.body.id
}

/** Calls the operation's sample. @param own Ids that take the place of the first organization's. */
function call({ id, method, path }: Operation, as: TestOrg, own: Ids = {}): Promise<Answer> {
  const sample = samples[id]
  if (sample === undefined) throw new Error(`${id} has no sample`)
  const ids = { ...mine.ids, ...sample.ids, ...own }
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
    const siteId = mine.ids['site_id']
    const assign = { op: 'assign', site_id: strangerSiteId, macs: [mine.mac] }
    const put = (body: unknown) => server.call('PUT', `/orgs/${orgId}/inventory`, { as: stranger, body })
    expect(await put(assign)).toMatchObject({ status: 400, body: { error: [mine.mac], reason: ['not found'] } })
    expect((await put({ ...assign, site_id: siteId })).status).toBe(404)
    expect(await put({ op: 'delete', macs: [mine.mac] })).toMatchObject({ status: 400, body: { error: [mine.mac] } })
    const upgrade = { ...upgradeBody, all_sites: false, site_ids: [siteId] }
    const started = await server.call('POST', `/orgs/${orgId}/devices/upgrade`, { as: stranger, body: upgrade })
    expect(started.status).toBe(404)
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
        operation.method === 'GET'
          ? { status: 200 }
          : { status: 403, body: { detail: 'You do not have permission to perform this action.' } }
      expect(answer, operation.id).toMatchObject(expected)
    }
    expect(await databaseState()).toEqual(before)
  })
})

/** Reads the first organization, and has none of their own. */
async function addReader(): Promise<TestOrg> {
  const { db } = server.ctx
  const reader = await server.addOrg('Left behind')
  await db.deleteFrom('privilege').where('adminId', '=', reader.adminId).execute()
  const privilege = { orgId: server.org.orgId, id: uuidv7(), adminId: reader.adminId }
  await db
    .insertInto('privilege')
    .values({ ...privilege, scope: 'org', role: 'read', siteId: null })
    .execute()
  return reader
}

describe('the owner', () => {
  // Last, because it changes and removes: proves that the samples failed for no other reason.
  it('succeeds with every sample', async () => {
    for (const operation of tenantOperations())
      expect(await call(operation, server.org), operation.id).toMatchObject({ status: 200 })
  })
})
