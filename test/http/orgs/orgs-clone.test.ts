import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addSite, claimNewDevices } from '../../support/fleets/devices.ts'
import { addPerson } from '../../support/people.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

const clone = (body?: unknown, as = server.org) =>
  server.call('POST', `/orgs/${server.org.orgId}/clone`, { as, ...(body !== undefined && { body }) })

describe('a clone', () => {
  it('has the fields and settings, and nothing that is personal or secret', async () => {
    const { orgId } = server.org
    const siteId = await addSite(server)
    await claimNewDevices(server, 1)
    await server.call('POST', `/orgs/${orgId}/sitegroups`, { body: { name: 'Group' } })
    await server.call('POST', `/orgs/${orgId}/webhooks`, { body: { url: 'http://127.0.0.1:9/', topics: ['audits'] } })
    await addPerson(server, [{ scope: 'org', role: 'admin' }])
    await server.call('PUT', `/orgs/${orgId}`, { body: { name: 'Original', session_expiry: 60, custom: [2, 1] } })
    await server.call('PUT', `/orgs/${orgId}/setting`, {
      body: {
        ui_idle_timeout: 7,
        cloudshark: { apitoken: 'hunter2', url: 'https://c.example.test' },
        installer: { extra_site_ids: [siteId], grace_period: 3 },
        unknown: { of: ['later'] },
      },
    })
    const { status, body } = await clone({ name: 'Second' })
    expect(status).toBe(200)
    expect(body).toMatchObject({ name: 'Second', session_expiry: 60, custom: [2, 1] })
    expect(body.id).not.toBe(orgId)
    const setting = await server.call('GET', `/orgs/${body.id}/setting`)
    expect(setting.body).toMatchObject({
      org_id: body.id,
      ui_idle_timeout: 7,
      cloudshark: { url: 'https://c.example.test' },
      unknown: { of: ['later'] },
    })
    expect(setting.body.installer).toEqual({ grace_period: 3 })
    expect(JSON.stringify(setting.body)).not.toContain('hunter2')
    for (const list of ['sites', 'sitegroups', 'webhooks', 'inventory', 'apitokens', 'ssos', 'invites'])
      expect((await server.call('GET', `/orgs/${body.id}/${list}`)).body, list).toEqual([])
    const admins = await server.call('GET', `/orgs/${body.id}/admins`)
    expect(admins.body).toMatchObject([{ admin_id: server.org.adminId }])
    const logs = await server.call('GET', `/orgs/${body.id}/logs`)
    expect(logs.body.results).toMatchObject([{ message: 'Add Org "Second"', after: { cloned_from: orgId } }])
    expect(JSON.stringify(logs.body)).not.toContain('hunter2')
    await server.call('PUT', `/orgs/${orgId}/setting`, {
      body: { '-installer': '', '-cloudshark': '', '-unknown': '' },
    })
  })

  it('has the name of its original unless the request names it', async () => {
    const { body: org } = await server.call('PUT', `/orgs/${server.org.orgId}`, { body: { name: 'n'.repeat(200) } })
    const { body } = await clone()
    expect(body.name).toBe(`Copy of ${org.name}`.slice(0, 200))
    expect((await clone({ name: '' })).status).toBe(400)
  })

  it('is allowed to administrators who may have an organization of their own', async () => {
    const writer = await addPerson(server, [{ scope: 'org', role: 'write' }])
    expect((await clone({ name: 'X' }, writer)).status).toBe(403)
    const token = await server.call('POST', `/orgs/${server.org.orgId}/apitokens`, {
      body: { name: 'script', privileges: [{ scope: 'org', role: 'admin' }] },
    })
    expect((await clone({ name: 'X' }, { ...server.org, token: token.body.key })).status).toBe(403)
  })
})
