import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Operation } from '../src/http/operation.ts'
import { databaseState } from './support/database/database-state.ts'
import { addSite } from './support/fleets/devices.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from './support/servers/server.ts'
import type { Ids, Samples } from './tenancy/area.ts'
import { makeAreas } from './tenancy/areas.ts'
import { callSample } from './tenancy/call-sample.ts'
import { upgradeBody } from './tenancy/upgrades.ts'

/** Operations on objects that belong to no organization. */
const OF_NOBODY = [
  'getSelf',
  'updateSelf',
  'deleteSelf',
  'leaveOrg',
  'updateSelfEmail',
  'verifySelfEmail',
  'confirmSelfEmail',
  'getSelfLoginFailures',
  'getSelfApiUsage',
  'listSelfSessions',
  'endOtherSelfSessions',
  'endSelfSession',
  'listLoginOauthProviders',
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
  'getWebhookTopicSchema',
  'listWebhookKeys',
  'listCountryCodes',
  'listStates',
  'listSiteLanguages',
  'listDeviceModels',
  'listDeviceEventsDefinitions',
  'listAlarmDefinitions',
  'listMxEdgeModels',
  'listMxEdgeEventsDefinitions',
  'listClientEventsDefinitions',
  'listSystemEventsDefinitions',
  'listNacEventsDefinitions',
  'listOtherDeviceEventsDefinitions',
  'listSupportedOtherDeviceModels',
  'getGatewayDefaultConfig',
  'getAdminRegistrationInfo',
  'registerMxEdgeAgent',
  'registerSsrAgent',
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
let operations: readonly Operation[]
let mine: Ids
let samples: Samples
let stranger: TestOrg
let strangerSiteId: string

beforeAll(async () => {
  server = await startTestServer()
  operations = server.operations
  const areas = await makeAreas(server)
  mine = areas.ids
  samples = areas.samples
  stranger = await server.addOrg('Stranger')
  strangerSiteId = await addSite(server, 'Elsewhere', stranger)
  // Otherwise the uses of tokens so far would be written while a test compares the rows.
  await server.tokenUses.flush()
})
afterAll(() => server.close())

/**
 * Calls the operation's sample.
 * @param own Ids that replace those of the first organization.
 */
function call(operation: Operation, as: TestOrg, own: Ids = {}): Promise<Answer> {
  const sample = samples[operation.id]
  if (sample === undefined) throw new Error(`${operation.id} has no sample`)
  return callSample(server, operation, { sample, ids: { ...mine, ...sample.ids, ...own }, as })
}

/** Lists every operation on an object of an organization, in the order of the samples. */
function tenantOperations(): Operation[] {
  const byId = new Map(operations.map((operation) => [operation.id, operation]))
  return Object.keys(samples).flatMap((id) => byId.get(id) ?? [])
}

describe('another organization', () => {
  it('has a sample of every operation', () => {
    const expected = operations.map(({ id }) => id).filter((id) => !OF_NOBODY.includes(id))
    expect(Object.keys(samples).sort()).toEqual(expected.sort())
    expect(operations.map(({ id }) => id)).toEqual(expect.arrayContaining(OF_NOBODY))
  })

  it('reaches nothing through its own organization or site', async () => {
    const before = await databaseState(server.ctx.db)
    const own = { org_id: stranger.orgId, site_id: strangerSiteId }
    const nested = tenantOperations().filter(({ at }) => at.path.split(':').length > 2)
    expect(nested.length).toBeGreaterThan(10)
    for (const operation of nested) {
      const answer = await call(operation, stranger, own)
      expect(answer, operation.id).toMatchObject({ status: 404, body: { detail: 'Not found.' } })
    }
    expect(await databaseState(server.ctx.db)).toEqual(before)
  })

  it('reaches nothing through a body or a query', async () => {
    const before = await databaseState(server.ctx.db)
    const { orgId } = stranger
    const { site_id: siteId, device_mac: mac = '' } = mine
    const assign = { op: 'assign', site_id: strangerSiteId, macs: [mac] }
    const put = (body: unknown) => server.call('PUT', `/orgs/${orgId}/inventory`, { as: stranger, body })
    expect(await put(assign)).toMatchObject({ status: 400, body: { error: [mac], reason: ['not found'] } })
    expect((await put({ ...assign, site_id: siteId })).status).toBe(404)
    expect(await put({ op: 'delete', macs: [mac] })).toMatchObject({ status: 400, body: { error: [mac] } })
    const upgrade = { ...upgradeBody, all_sites: false, site_ids: [siteId] }
    const started = await server.call('POST', `/orgs/${orgId}/devices/upgrade`, { as: stranger, body: upgrade })
    // The site of another organization is answered like a missing one.
    expect(started).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('Invalid field site_ids.0: ') },
    })
    for (const list of ['inventory', 'stats/devices']) {
      const answer = await server.call('GET', `/orgs/${orgId}/${list}?site_id=${siteId}`, { as: stranger })
      expect(answer, list).toMatchObject({ status: 200, body: [] })
    }
    const logs = await server.call('GET', `/orgs/${orgId}/logs?site_id=${siteId}`, { as: stranger })
    expect(logs.body.results).toEqual([])
    expect(await databaseState(server.ctx.db)).toEqual(before)
  })
})

describe('the owner', () => {
  // This test is the last, because it changes and deletes. It proves that the samples failed for no other reason.
  it('succeeds with every sample', async () => {
    for (const operation of tenantOperations()) {
      const detail = samples[operation.id]?.refusal
      const expected = detail === undefined ? { status: 200 } : { status: 400, body: { detail } }
      expect(await call(operation, server.org), operation.id).toMatchObject(expected)
    }
  })
})
