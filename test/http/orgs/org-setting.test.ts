import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemScope } from '../../../src/access/scope.ts'
import { findAccessByEmail } from '../../../src/access/authentication/store.ts'
import { findInstallerSetting, hidesSecrets, passwordPolicyOf } from '../../../src/orgs/org-settings/store.ts'
import { addSite } from '../../support/fleets/devices.ts'
import { addPerson } from '../../support/people.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
let path: string
beforeAll(async () => {
  server = await startTestServer()
  path = `/orgs/${server.org.orgId}/setting`
})
afterAll(() => server.close())

const put = (body: unknown) => server.call('PUT', path, { body })

describe('settings of an organization', () => {
  it('are initially empty', async () => {
    const { orgId } = server.org
    const own = { id: orgId, org_id: orgId, for_site: false, pcap_bucket_verified: false }
    expect((await server.call('GET', path)).body).toEqual(own)
  })

  it('store and return each field that was set, including those of later versions', async () => {
    const policy = { enabled: true, min_length: 12, requires_special_char: true, later: 1 }
    const unknown = { tags: ['b', 'a'], later: { than: [1, null] } }
    const first = await put({ password_policy: policy, ...unknown, id: server.org.orgId })
    expect(first).toMatchObject({
      status: 200,
      body: { org_id: server.org.orgId, password_policy: policy, ...unknown },
    })
    expect(first.body.id).toBe(server.org.orgId)
    await put({ ui_idle_timeout: 30 })
    expect((await server.call('GET', path)).body).toMatchObject({
      password_policy: policy,
      ...unknown,
      ui_idle_timeout: 30,
    })
    await put({ '-ui_idle_timeout': '', '-tags': '' })
    const { body } = await server.call('GET', path)
    expect(body).not.toHaveProperty('ui_idle_timeout')
    expect(body).not.toHaveProperty('tags')
  })

  it.each([
    [{ ui_idle_timeout: 481 }],
    [{ ui_idle_timeout: '30' }],
    [{ password_policy: { min_length: -1 } }],
    [{ password_policy: { min_length: 129 } }],
    [{ password_policy: { enabled: 'yes' } }],
    [{ password_policy: { expiry_in_days: -1 } }],
    [{ api_policy: { no_reveal: 1 } }],
  ])('refuse %j and change nothing', async (body) => {
    const before = await server.call('GET', path)
    expect((await put(body)).status).toBe(400)
    expect((await server.call('GET', path)).body).toEqual(before.body)
  })

  it('can be changed by administrators only', async () => {
    for (const role of ['write', 'read', 'helpdesk'] as const) {
      const as = await addPerson(server, [{ scope: 'org', role }])
      expect((await server.call('PUT', path, { as, body: { ui_idle_timeout: 0 } })).status).toBe(403)
      expect((await server.call('GET', path, { as })).status).toBe(200)
    }
  })

  it('have audit records of changes without secrets', async () => {
    await put({ mxedge_mgmt: { root_password: 'hunter2', fips_enabled: true } })
    const logs = await server.call('GET', `/orgs/${server.org.orgId}/logs`)
    expect(logs.body.results[0]).toMatchObject({
      message: 'Update Org Settings',
      after: { mxedge_mgmt: { fips_enabled: true } },
    })
    expect(JSON.stringify(logs.body)).not.toContain('hunter2')
  })

  it('of new passwords add up over the organizations of an admin', async () => {
    const { db } = server.ctx
    const { adminId } = server.org
    const other = await server.addOrg('Other')
    await server.call('PUT', `/orgs/${other.orgId}/setting`, {
      as: other,
      body: {
        password_policy: { enabled: true, min_length: 20 },
      },
    })
    expect(await passwordPolicyOf(db, adminId)).toEqual({ minLength: 12, requiresSpecialChar: true })
    await db.updateTable('privilege').set({ adminId }).where('orgId', '=', other.orgId).execute()
    expect(await passwordPolicyOf(db, adminId)).toEqual({ minLength: 20, requiresSpecialChar: true })
  })
})

describe('api_policy.no_reveal', () => {
  const hook = { url: 'http://127.0.0.1:9/hook', topics: ['audits'], secret: 'hunter2' }
  const secretOf = async (method: string, of: string, options: object = {}) =>
    (await server.call(method, of, options)).body.secret

  it('hides secrets from callers who may only read, or from everyone but the answer to their write', async () => {
    const { org } = server
    const site = await addSite(server, 'Hooks')
    const reader = await addPerson(server, [{ scope: 'org', role: 'read' }])
    for (const place of [`/orgs/${org.orgId}`, `/sites/${site}`]) {
      const { body } = await server.call('POST', `${place}/webhooks`, { body: hook })
      const one = `${place}/webhooks/${body.id}`
      expect(body.secret).toBe('hunter2')
      expect(await secretOf('GET', one)).toBe('hunter2')
      expect(await secretOf('GET', one, { as: reader })).toBeUndefined()
      await put({ api_policy: { no_reveal: true } })
      expect(await secretOf('GET', one)).toBeUndefined()
      expect(await secretOf('PUT', one, { body: { name: 'x' } })).toBeUndefined()
      const written = { secret: 'new', headers: { 'X-Key': 'value' } }
      expect((await server.call('PUT', one, { body: written })).body).toMatchObject(written)
      expect((await server.call('PUT', one, { body: { headers: written.headers } })).body).not.toHaveProperty('secret')
      expect((await server.call('GET', one)).body).not.toHaveProperty('headers')
      await server.call('PUT', one, { body: { secret: 'hunter2' } })
      expect(await secretOf('POST', `${place}/webhooks`, { body: hook })).toBe('hunter2')
      for (const entry of (await server.call('GET', `${place}/webhooks`)).body) expect(entry.secret).toBeUndefined()
      await put({ api_policy: { no_reveal: false } })
      // A hidden secret is still stored.
      expect(await secretOf('GET', one)).toBe('hunter2')
    }
  })

  it('also applies to the settings themselves', async () => {
    await put({ cloudshark: { apitoken: 'hunter2', url: 'https://c.example.test' } })
    const reader = await addPerson(server, [{ scope: 'org', role: 'read' }])
    const hidden = { url: 'https://c.example.test' }
    expect((await server.call('GET', path)).body.cloudshark).toHaveProperty('apitoken', 'hunter2')
    expect((await server.call('GET', path, { as: reader })).body.cloudshark).toEqual(hidden)
    expect((await put({ api_policy: { no_reveal: true } })).body.cloudshark).toEqual(hidden)
    expect((await server.call('GET', path)).body.cloudshark).toEqual(hidden)
    const cloudshark = { ...hidden, apitoken: 'hunter3' }
    expect((await put({ cloudshark })).body.cloudshark).toEqual(cloudshark)
    expect((await server.call('GET', path)).body.cloudshark).toEqual(hidden)
    await put({ api_policy: { no_reveal: false } })
  })
})

it('are read in part where a request depends on some of them, however long they are', async () => {
  await put({ later: 'x'.repeat(100_000), api_policy: { no_reveal: true }, installer: { grace_period: 9 } })
  let chars = 0
  const db = server.ctx.db.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      chars += JSON.stringify(result.rows).length
      return result
    },
  })
  const scope = systemScope('accounts', server.org.orgId)
  expect(await hidesSecrets(db, scope)).toBe(true)
  expect(await findInstallerSetting(db, scope)).toMatchObject({ graceDays: 9 })
  expect(await passwordPolicyOf(db, server.org.adminId)).toBeDefined()
  expect(await findAccessByEmail(db, server.org.email)).toMatchObject({ adminId: server.org.adminId })
  expect(chars).toBeLessThan(5000)
  await put({ '-later': '', '-api_policy': '', '-installer': '' })
})
