import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { addSite, claimNewDevice } from '../support/fleets/devices.ts'
import { addPerson, addPrivilege, makeSsoAdmin } from '../support/people.ts'
import { type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'

let server: TestServer
let admins: string
beforeAll(async () => {
  server = await startTestServer()
  admins = `/orgs/${server.org.orgId}/admins`
})
afterAll(() => server.close())

const put = (adminId: string, privileges: unknown, as = server.org) =>
  server.call('PUT', `${admins}/${adminId}`, { as, body: { privileges } })
const revoke = (adminId: string, as = server.org) => server.call('DELETE', `${admins}/${adminId}`, { as })

describe('admins of an organization', () => {
  it('lists the privileges in this organization, and none in others', async () => {
    const elsewhere = await server.addOrg('Elsewhere')
    const siteId = await addSite(server, 'Theirs')
    await put(elsewhere.adminId, [{ scope: 'org', role: 'read' }]).then(({ status }) => expect(status).toBe(404))
    const person = await addPerson(server, [
      { scope: 'site', role: 'write', site_id: siteId },
      { scope: 'sitegroup', role: 'read', sitegroup_id: randomUUID() },
    ])
    const { body, headers } = await server.call('GET', admins)
    expect(headers.get('x-page-total')).toBe('2')
    const entry = body.find(({ admin_id }: { admin_id: string }) => admin_id === person.adminId)
    expect(entry).toMatchObject({
      email: person.email,
      via_sso: false,
      enable_two_factor: false,
      privileges: [
        { scope: 'site', role: 'write', site_id: siteId, org_id: server.org.orgId },
        { scope: 'sitegroup', role: 'read' },
      ],
    })
    expect(JSON.stringify(body)).not.toContain(elsewhere.email)
    expect((await revoke(person.adminId)).status).toBe(200)
  })

  it('replaces privileges, immediately also for tokens, and nothing else of the account', async () => {
    const person = await addPerson(server, [{ scope: 'org', role: 'write' }])
    const privileges = [{ scope: 'org', role: 'read' }]
    const path = `${admins}/${person.adminId}`
    for (const [field, value] of Object.entries({
      email: 'taken@example.test',
      first_name: 'Eve',
      phone: '1',
      hours: 2,
    }))
      expect(await server.call('PUT', path, { body: { privileges, [field]: value } })).toMatchObject({
        status: 400,
        body: { detail: `Invalid field ${field}: can't be changed here: only the owner of the account may` },
      })
    const unchanged = await server.call('PUT', path, { body: { first_name: '', email: person.email } })
    expect(unchanged.body).toMatchObject({ name: '', privileges: [{ role: 'write', org_name: 'Test' }] })
    const changed = await server.call('PUT', path, { body: { ...unchanged.body, privileges } })
    expect(changed.body).toMatchObject({ email: person.email, first_name: '', privileges: [{ role: 'read' }] })
    const write = await server.call('POST', `/orgs/${server.org.orgId}/sites`, { as: person, body: { name: 'S' } })
    expect(write.status).toBe(403)
    const logs = await server.call('GET', `/orgs/${server.org.orgId}/logs`)
    expect(logs.body.results[0]).toMatchObject({
      message: `Update Admin "${person.email}"`,
      before: { privileges: [{ scope: 'org', role: 'write' }] },
      after: { privileges: [{ scope: 'org', role: 'read' }] },
    })
  })

  it('revokes all privileges, after which the admin no longer finds the organization', async () => {
    const person = await addPerson(server, [{ scope: 'org', role: 'write' }])
    expect(await revoke(person.adminId)).toMatchObject({ status: 200, body: {} })
    expect((await server.call('GET', `/orgs/${server.org.orgId}`, { as: person })).status).toBe(404)
    expect((await server.call('GET', '/self', { as: person })).status).toBe(200)
    expect((await revoke(person.adminId)).status).toBe(404)
  })

  it('revokes the tokens of the organization that the admin created, and lists them, unless they are to be kept', async () => {
    const tokens = `/orgs/${server.org.orgId}/apitokens`
    const body = { name: 'of a robot', privileges: [{ scope: 'org', role: 'read' }] }
    for (const keep of [false, true]) {
      const person = await addPerson(server, [{ scope: 'org', role: 'admin' }])
      const { id, key, created_by: creator } = (await server.call('POST', tokens, { as: person, body })).body
      expect(creator).toBe(person.email)
      const path = `/orgs/${server.org.orgId}/admins/${person.adminId}${keep ? '?keep_apitokens=true' : ''}`
      expect((await server.call('DELETE', path)).body).toEqual(keep ? {} : { apitokens: [{ id, name: body.name }] })
      const asRobot = await server.call('GET', `/orgs/${server.org.orgId}`, { as: { ...person, token: key } })
      expect(asRobot.status).toBe(keep ? 200 : 401)
    }
  })

  it('revokes the tokens that an admin created who leaves', async () => {
    const person = await addPerson(server, [{ scope: 'org', role: 'admin' }])
    const body = { name: 'of a robot', privileges: [{ scope: 'org', role: 'read' }] }
    const { key } = (await server.call('POST', `/orgs/${server.org.orgId}/apitokens`, { as: person, body })).body
    expect((await server.call('DELETE', `/self/orgs/${server.org.orgId}`, { as: person })).status).toBe(200)
    expect((await server.call('GET', '/self', { as: { ...person, token: key } })).status).toBe(401)
  })

  it.each(['write', 'read', 'helpdesk', 'installer'] as const)("can't be changed by the role %s", async (role) => {
    const person = await addPerson(server, [{ scope: 'org', role }])
    const more = [{ scope: 'org', role: 'admin' }]
    expect((await put(person.adminId, more, person)).status).toBe(403)
    expect((await revoke(server.org.adminId, person)).status).toBe(403)
  })

  it("can't be changed by administrators of single sites", async () => {
    const siteId = await addSite(server, 'One')
    const person = await addPerson(server, [{ scope: 'site', role: 'admin', site_id: siteId }])
    expect((await put(person.adminId, [{ scope: 'org', role: 'admin' }], person)).status).toBe(403)
  })

  it('does not reach the admins of other organizations', async () => {
    const stranger = await server.addOrg('Stranger')
    expect((await put(stranger.adminId, [{ scope: 'org', role: 'read' }])).status).toBe(404)
    expect((await revoke(stranger.adminId)).status).toBe(404)
    const site_id = await addSite(server, 'Elsewhere', stranger)
    const person = await addPerson(server, [{ scope: 'org', role: 'read' }])
    expect((await put(person.adminId, [{ scope: 'site', role: 'read', site_id }])).status).toBe(404)
    expect((await put(person.adminId, [{ scope: 'org', role: 'read', org_id: stranger.orgId }])).status).toBe(400)
  })

  it('leaves the privileges of SSO admins to the identity provider', async () => {
    const person = await addPerson(server, [{ scope: 'org', role: 'read' }])
    await makeSsoAdmin(server, person)
    expect((await put(person.adminId, [{ scope: 'org', role: 'admin' }])).status).toBe(400)
    expect((await revoke(person.adminId)).status).toBe(200)
  })
})

describe('a privilege for all sites', () => {
  it('covers each site, also a later one, and nothing of the organization itself', async () => {
    const { orgId } = server.org
    const siteId = await addSite(server, 'Present')
    const person = await addPerson(server, [{ scope: 'org', role: 'read' }])
    const changed = await put(person.adminId, [{ scope: 'orgsites', role: 'write' }])
    expect(changed.body.privileges).toMatchObject([{ scope: 'orgsites', role: 'write', org_id: orgId }])
    const laterId = await addSite(server, 'Later')
    for (const id of [siteId, laterId])
      expect((await server.call('PUT', `/sites/${id}`, { as: person, body: { notes: 'x' } })).status).toBe(200)
    expect((await server.call('GET', '/self', { as: person })).body.privileges).toMatchObject([{ scope: 'orgsites' }])
    const ofOrg = { as: person, body: { name: 'Mine' } }
    expect((await server.call('PUT', `/orgs/${orgId}`, ofOrg)).status).toBe(403)
    expect((await server.call('POST', `/orgs/${orgId}/sites`, ofOrg)).status).toBe(403)
    expect((await server.call('GET', `/orgs/${(await server.addOrg()).orgId}`, { as: person })).status).toBe(404)
    expect((await revoke(person.adminId)).status).toBe(200)
  })

  it.each(['apitokens', 'ssoroles'])('can be given by %s', async (path) => {
    const privileges = [{ scope: 'orgsites', role: 'read', views: ['location'] }]
    const made = await server.call('POST', `/orgs/${server.org.orgId}/${path}`, { body: { name: 'Sites', privileges } })
    expect(made).toMatchObject({ status: 200, body: { privileges } })
  })
})

describe('the last admin', () => {
  it('can neither leave nor be demoted', async () => {
    const sso = await addPerson(server, [{ scope: 'org', role: 'admin' }])
    // An admin who depends on an identity provider does not count.
    await makeSsoAdmin(server, sso)
    expect((await revoke(server.org.adminId)).status).toBe(400)
    expect((await put(server.org.adminId, [{ scope: 'org', role: 'write' }])).status).toBe(400)
    expect((await revoke(server.org.adminId, sso)).status).toBe(400)
    expect((await server.call('GET', '/self')).body.privileges).toMatchObject([{ role: 'admin' }])
  })

  it('remains if two revoke each other at the same time', async () => {
    const one = await server.addOrg('Two admins')
    const other = await server.addOrg('Of the other')
    await addPrivilege(server, { orgId: one.orgId, adminId: other.adminId }, { scope: 'org', role: 'admin' })
    const path = `/orgs/${one.orgId}/admins`
    const answers = await Promise.all([
      server.call('DELETE', `${path}/${other.adminId}`, { as: one }),
      server.call('DELETE', `${path}/${one.adminId}`, { as: other }),
    ])
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  })
})

describe('the permissions of each role', () => {
  let siteId: string
  let deviceId: string
  beforeEach(async () => {
    siteId = await addSite(server, 'Roles')
    const device = await claimNewDevice(server, { siteId })
    deviceId = device.id
  })

  /**
   * The statuses of reading the account, reading a site, acting on a device, changing a site and changing the
   * organization.
   */
  async function tryAll(as: TestOrg): Promise<number[]> {
    const org = `/orgs/${server.org.orgId}`
    const calls = [
      ['GET', '/self'],
      ['GET', `/sites/${siteId}`],
      ['POST', `/sites/${siteId}/devices/${deviceId}/restart`, {}],
      ['PUT', `/sites/${siteId}`, { notes: 'x' }],
      ['PUT', org, { name: 'Test' }],
    ] as const
    const statuses: number[] = []
    for (const [method, path, body] of calls) statuses.push((await server.call(method, path, { as, body })).status)
    return statuses
  }

  // A device that is not connected can't be restarted: 400 means that the caller had the permission.
  it.each([
    ['admin', [200, 200, 400, 200, 200]],
    ['write', [200, 200, 400, 200, 403]],
    ['helpdesk', [200, 200, 400, 403, 403]],
    ['read', [200, 200, 403, 403, 403]],
    ['installer', [200, 403, 403, 403, 403]],
  ] as const)('%s', async (role, statuses) => {
    expect(await tryAll(await addPerson(server, [{ scope: 'org', role }]))).toEqual(statuses)
  })

  it('are limited to a site, and to the sites of a group', async () => {
    const groupId = randomUUID()
    await server.call('PUT', `/sites/${siteId}`, { body: { sitegroup_ids: [groupId] } })
    const other = await addSite(server, 'Other')
    for (const privilege of [
      { scope: 'site', role: 'write', site_id: siteId },
      { scope: 'sitegroup', role: 'write', sitegroup_id: groupId },
    ] as const) {
      const person = await addPerson(server, [privilege])
      expect(await tryAll(person), privilege.scope).toEqual([200, 200, 400, 200, 403])
      expect((await server.call('GET', `/sites/${other}`, { as: person })).status).toBe(404)
    }
  })

  it('give installers nothing of the organization, and no way to create one', async () => {
    const person = await addPerson(server, [{ scope: 'org', role: 'installer' }])
    const org = `/orgs/${server.org.orgId}`
    for (const path of [org, `${org}/sites`, `${org}/inventory`, `${org}/admins`, `${org}/setting`, `${org}/apitokens`])
      expect((await server.call('GET', path, { as: person })).status, path).toBe(403)
    expect((await server.call('POST', '/orgs', { as: person, body: { name: 'Own' } })).status).toBe(403)
    expect((await server.call('GET', '/self/apitokens', { as: person })).status).toBe(200)
  })
})
