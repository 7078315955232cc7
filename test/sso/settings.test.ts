import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { type KeyPair, makeKeys } from './identity-provider.ts'

let server: TestServer
let keys: KeyPair
let path: string
beforeAll(async () => {
  server = await startTestServer()
  keys = await makeKeys()
  path = `/orgs/${server.org.orgId}/ssos`
})
afterAll(() => server.close())

const create = (fields: Record<string, unknown>) => server.call('POST', path, { body: { name: 'Company', ...fields } })

describe('an SSO', () => {
  it('stores and returns exactly what was set', async () => {
    const fields = {
      issuer: 'https://idp.example/id',
      idp_cert: keys.cert,
      idp_sign_algo: 'sha512',
      idp_sso_url: 'https://idp.example/sso',
      nameid_format: 'unspecified',
      role_attr_from: 'groups',
      ignore_unmatched_roles: true,
    }
    const made = await create({ ...fields, id: 'mine', domain: 'mine', org_id: 'other' })
    expect(made.body).toEqual({
      ...fields,
      name: 'Company',
      idp_type: 'saml',
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      org_id: server.org.orgId,
      domain: expect.stringMatching(/^[0-9a-f]{20}$/),
      created_time: expect.any(Number),
      modified_time: expect.any(Number),
    })
    const one = `${path}/${made.body.id}`
    expect((await server.call('GET', one)).body).toEqual(made.body)
    const changed = await server.call('PUT', one, { body: { name: 'Renamed', '-role_attr_from': '' } })
    expect(changed.body).toMatchObject({ name: 'Renamed', issuer: fields.issuer, domain: made.body.domain })
    expect(changed.body).not.toHaveProperty('role_attr_from')
    const list = await server.call('GET', path)
    expect(list.body).toContainEqual(changed.body)
    expect(list.headers.get('x-page-total')).toBe(String(list.body.length))
    expect((await server.call('DELETE', one)).body).toEqual({})
    expect((await server.call('GET', one)).status).toBe(404)
    expect((await server.call('DELETE', one)).status).toBe(404)
    const { body } = await server.call('GET', `/orgs/${server.org.orgId}/logs`)
    expect(body.results.map(({ message }: { message: string }) => message)).toEqual(
      expect.arrayContaining(['Add SSO "Company"', 'Update SSO "Renamed"', 'Delete SSO "Renamed"']),
    )
  })

  it.each([
    ['idp_type', { idp_type: 'carrier pigeon' }],
    ['idp_sign_algo', { idp_sign_algo: 'md5' }],
    ['idp_sso_url', { idp_sso_url: 'javascript:alert(1)' }],
    ['idp_sso_url', { idp_sso_url: 'not an address' }],
    ['custom_logout_url', { custom_logout_url: 'data:text/html,bye' }],
    ['scim_enabled', { scim_enabled: true }],
    ['name', { name: '' }],
    ['issuer', { issuer: 7 }],
    ['oauth_type', { oauth_type: 'carrier pigeon' }],
  ])('is refused with a bad %s, on creation and later', async (field, fields) => {
    const refused = { status: 400, body: { detail: expect.stringContaining(`Invalid field ${field}: `) } }
    expect(await create(fields)).toMatchObject(refused)
    const { body } = await create({})
    expect(await server.call('PUT', `${path}/${body.id}`, { body: fields })).toMatchObject(refused)
    await server.call('DELETE', `${path}/${body.id}`)
  })

  it('keeps the fields of other identity providers, and shows their secrets to administrators only', async () => {
    const secrets = { ldap_bind_password: 'hunter1', oauth_cc_client_secret: 'hunter2', scim_secret_token: 'hunter3' }
    const fields = {
      oauth_provider_domain: 'mist.example.test',
      oauth_type: 'standards',
      ldap_server_hosts: ['a.example.test'],
      mxedge_proxy: { ssids: ['Guests'], auth_servers: [{ host: '192.0.2.1', secret: 'hunter4' }] },
      openroaming_ssids: [],
      scim_enabled: false,
      later: { deep: 1 },
    }
    const made = await create({ name: 'Other', ...fields, ...secrets })
    expect(made).toMatchObject({ status: 200, body: { ...fields, ...secrets } })
    const one = `${path}/${made.body.id}`
    expect((await server.call('PUT', one, { body: made.body })).body).toMatchObject({ ...fields, ...secrets })
    const token = await server.call('POST', `/orgs/${server.org.orgId}/apitokens`, {
      body: { name: 'writer', privileges: [{ scope: 'org', role: 'write' }] },
    })
    const as = { ...server.org, token: token.body.key }
    for (const place of [one, path]) {
      const shown = JSON.stringify((await server.call('GET', place, { as })).body)
      expect(shown).toContain('oauth_provider_domain')
      expect(shown).not.toContain('hunter')
    }
    const logs = JSON.stringify(await server.ctx.db.selectFrom('auditLog').selectAll().execute())
    expect(logs).toContain('oauth_provider_domain')
    expect(logs).not.toContain('hunter')
  })

  it("keeps a certificate that it can't use, says so, and admits nobody with it", async () => {
    const weak = await makeKeys(1024)
    const usable = { issuer: 'https://idp.example/id', idp_sso_url: 'https://idp.example/sso' }
    for (const [idp_cert, warning] of [
      ['your_idp_cert', 'idp_cert must be a certificate in PEM form, or up to 4'],
      [weak.cert, 'idp_cert must have a key of 2048 bits or more'],
      [keys.cert, undefined],
    ] as const) {
      const { status, body: sso } = await create({ name: 'Later', ...usable, idp_cert })
      expect({ status, idp_cert: sso.idp_cert }).toEqual({ status: 200, idp_cert })
      const { body } = await server.call('GET', `${path}/${sso.id}/metadata`)
      expect(body.warnings).toEqual(warning === undefined ? undefined : [warning])
      const login = await fetch(`${server.url}/saml/${sso.domain}/login`, { redirect: 'manual' })
      expect(login.status).toBe(warning === undefined ? 302 : 400)
      await server.call('DELETE', `${path}/${sso.id}`)
    }
  })

  it("keeps a way to extract roles that it doesn't know, says so, and admits nobody with it", async () => {
    const usable = { issuer: 'https://idp.example/id', idp_sso_url: 'https://idp.example/sso', idp_cert: keys.cert }
    const { body: sso } = await create({ ...usable, role_attr_extraction: 'OU' })
    const one = `${path}/${sso.id}`
    const state = async () => {
      const { body } = await server.call('GET', `${one}/metadata`)
      const { status } = await fetch(`${server.url}/saml/${sso.domain}/login`, { redirect: 'manual' })
      return { extraction: (await server.call('GET', one)).body.role_attr_extraction, warnings: body.warnings, status }
    }
    const warnings = ['role_attr_extraction is OU, but roles can be extracted by CN only']
    expect(await state()).toEqual({ extraction: 'OU', warnings, status: 400 })
    await server.call('PUT', one, { body: { role_attr_extraction: 'cn' } })
    expect(await state()).toEqual({ extraction: 'cn', warnings: undefined, status: 302 })
    await server.call('DELETE', one)
  })

  it.each(['ldap', 'mxedge_proxy', 'oauth', 'openroaming'])(
    'stores type %s, and admits nobody with it',
    async (type) => {
      const usable = { issuer: 'https://idp.example/id', idp_sso_url: 'https://idp.example/sso', idp_cert: keys.cert }
      const { body: sso } = await create({ ...usable, idp_type: type })
      expect(sso.idp_type).toBe(type)
      const one = `${path}/${sso.id}`
      expect((await server.call('GET', one)).body).toEqual(sso)
      const warnings = async (): Promise<unknown> => (await server.call('GET', `${one}/metadata`)).body.warnings
      expect(await warnings()).toEqual([`idp_type is ${type}, but people can sign in with saml only`])
      const login = () => fetch(`${server.url}/saml/${sso.domain}/login`, { redirect: 'manual' })
      expect((await login()).status).toBe(400)
      expect((await server.call('PUT', one, { body: { '-idp_type': '' } })).body.idp_type).toBe('saml')
      expect(await warnings()).toBeUndefined()
      expect((await login()).status).toBe(302)
      await server.call('DELETE', one)
    },
  )

  it('stores sha384 as the weakest hash, and warns that no signature has it', async () => {
    const { body: sso } = await create({ idp_sign_algo: 'sha384' })
    expect(sso.idp_sign_algo).toBe('sha384')
    const { body } = await server.call('GET', `${path}/${sso.id}/metadata`)
    expect(body.warnings).toEqual([expect.stringMatching(/^idp_sign_algo is sha384, .* sign with sha512$/)])
    await server.call('DELETE', `${path}/${sso.id}`)
  })

  it('accepts a certificate in PEM or bare base64', async () => {
    const bare = keys.cert.replaceAll(/-----[^-]+-----|\s/g, '')
    expect(await create({ idp_cert: bare })).toMatchObject({ status: 200, body: { idp_cert: bare } })
  })

  it('shows its URLs before its identity provider is set, and admits nobody until then', async () => {
    const { body: sso } = await create({ name: 'Half' })
    const base = `${server.url}/saml/${sso.domain}`
    const { body } = await server.call('GET', `${path}/${sso.id}/metadata`)
    expect(body).toEqual({
      acs_url: `${base}/acs`,
      entity_id: base,
      logout_url: `${base}/logout`,
      metadata: expect.stringContaining(`entityID="${base}"`),
    })
    const file = await server.call('GET', `${path}/${sso.id}/metadata.xml`)
    expect(file.body).toBe(body.metadata)
    expect(file.headers.get('content-type')).toBe('application/samlmetadata+xml; charset=utf-8')
    expect(file.headers.get('content-type')).toMatch(/xml/)
    expect(file.body).toContain(`Location="${base}/acs"`)
    expect((await fetch(`${base}/login`, { redirect: 'manual' })).status).toBe(400)
  })

  it('can be read by readers and changed only by administrators', async () => {
    const { body: sso } = await create({})
    const token = await server.call('POST', `/orgs/${server.org.orgId}/apitokens`, {
      body: { name: 'writer', privileges: [{ scope: 'org', role: 'write' }] },
    })
    const as = { ...server.org, token: token.body.key }
    expect((await server.call('GET', path, { as })).status).toBe(200)
    const roles = `/orgs/${server.org.orgId}/ssoroles`
    const role = { name: 'boss', privileges: [{ scope: 'org', role: 'admin' }] }
    for (const call of [
      ['POST', path, { name: 'Mine' }],
      ['PUT', `${path}/${sso.id}`, { issuer: 'https://evil.example' }],
      ['DELETE', `${path}/${sso.id}`, undefined],
      ['POST', roles, role],
    ] as const)
      expect((await server.call(call[0], call[1], { as, body: call[2] })).status).toBe(403)
  })
})

describe('an SSO role', () => {
  it('is created, listed, changed and deleted', async () => {
    const roles = `/orgs/${server.org.orgId}/ssoroles`
    const body = { name: 'ops', privileges: [{ scope: 'org', role: 'write', views: ['switch'] }] }
    const made = await server.call('POST', roles, { body })
    const privileges = [{ scope: 'org', role: 'write', org_id: server.org.orgId, views: ['switch'] }]
    expect(made).toMatchObject({ status: 200, body: { name: 'ops', privileges, for_site: false } })
    const again = await server.call('POST', roles, { body })
    expect(again).toMatchObject({ status: 400, body: { detail: expect.stringContaining('Invalid field name: ') } })
    const one = `${roles}/${made.body.id}`
    const changed = await server.call('PUT', one, { body: { privileges: [{ scope: 'org', role: 'read' }] } })
    expect(changed.body).toMatchObject({ name: 'ops', privileges: [{ role: 'read' }] })
    expect((await server.call('GET', one)).body).toEqual(changed.body)
    expect((await server.call('GET', roles)).body).toEqual([changed.body])
    expect((await server.call('DELETE', one)).body).toEqual({})
    expect((await server.call('GET', one)).status).toBe(404)
  })

  it('can name only places of its organization', async () => {
    const roles = `/orgs/${server.org.orgId}/ssoroles`
    const other = await server.addOrg()
    const site = await server.call('POST', `/orgs/${other.orgId}/sites`, { as: other, body: { name: 'There' } })
    const attempts = [
      [{ scope: 'site', role: 'read', site_id: site.body.id }, 404],
      [{ scope: 'org', role: 'read', org_id: other.orgId }, 400],
      [{ scope: 'site', role: 'read' }, 400],
      [{ scope: 'msp', role: 'read' }, 400],
    ] as const
    for (const [privilege, status] of attempts)
      expect((await server.call('POST', roles, { body: { name: 'x', privileges: [privilege] } })).status).toBe(status)
    expect((await server.call('POST', roles, { body: { name: 'x', privileges: [] } })).status).toBe(400)
  })
})
