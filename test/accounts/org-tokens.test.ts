import { randomUUID } from 'node:crypto'
import { get } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addSite } from '../support/fleets/devices.ts'
import { addPerson } from '../support/people.ts'
import { type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'
import { tokensIn } from './tokens.ts'

const forbidden = { status: 403 }
const readAll = [{ scope: 'org', role: 'read' }]

let server: TestServer
/** The path of the first organization's tokens. */
let orgTokens: string
beforeAll(async () => {
  server = await startTestServer()
  orgTokens = `/orgs/${server.org.orgId}/apitokens`
})
afterAll(() => server.close())

const { create, holder } = tokensIn(() => server)

describe('tokens of an organization', () => {
  it('have an account record with a name and no address', async () => {
    const created = await create(orgTokens, {
      name: 'terraform',
      privileges: readAll,
      created_by: 'x',
      org_id: randomUUID(),
    })
    expect(created).toMatchObject({ org_id: server.org.orgId, created_by: server.org.email, last_used: null })
    expect(created).not.toHaveProperty('src_ips')
    const self = await server.call('GET', '/self', { as: holder(created.key) })
    expect(self.body).toMatchObject({ name: 'terraform', privileges: [{ scope: 'org', role: 'read' }] })
    expect(self.body).not.toHaveProperty('email')
    const change = await server.call('PUT', `/orgs/${server.org.orgId}`, {
      as: holder(created.key),
      body: { name: 'X' },
    })
    expect(change).toMatchObject(forbidden)
  })

  it("can't create an organization, which would have no admin", async () => {
    const { key } = await create(orgTokens, { name: 'x', privileges: [{ scope: 'org', role: 'admin' }] })
    expect(await server.call('POST', '/orgs', { as: holder(key), body: { name: 'Orphan' } })).toMatchObject(forbidden)
  })

  it('outlive their creator, whose name is then no longer shown', async () => {
    const person = await addPerson(server, [{ scope: 'org', role: 'admin' }])
    const { key, id } = await create(orgTokens, { name: 'x', privileges: readAll }, person)
    await server.ctx.db.deleteFrom('admin').where('id', '=', person.adminId).execute()
    expect((await server.call('GET', '/self', { as: holder(key) })).status).toBe(200)
    expect((await server.call('GET', `${orgTokens}/${id}`)).body.created_by).toBeNull()
  })

  it.each([
    ['no privileges', { privileges: [] }],
    ['eleven privileges', { privileges: Array.from({ length: 11 }, () => readAll[0]) }],
    ['an unknown role', { privileges: [{ scope: 'org', role: 'root' }] }],
    ['a scope beyond the organization', { privileges: [{ scope: 'msp', role: 'read' }] }],
    ['a site that is not named', { privileges: [{ scope: 'site', role: 'read' }] }],
    ['another organization', { privileges: [{ scope: 'org', role: 'read', org_id: randomUUID() }] }],
    ['eleven addresses', { src_ips: Array.from({ length: 11 }, (_, index) => `10.0.0.${index}`) }],
    ['a malformed address', { src_ips: ['10.0.0.0/33'] }],
    ['no name', { name: '' }],
  ])('refuses %s', async (_what, fields) => {
    const body = { name: 'x', privileges: readAll, ...fields }
    expect(await server.call('POST', orgTokens, { body })).toMatchObject({ status: 400 })
  })

  it('refuse a site of another organization like an unknown one', async () => {
    const stranger = await server.addOrg('Stranger')
    const siteId = await addSite(server, 'Elsewhere', stranger)
    for (const site_id of [siteId, randomUUID()]) {
      const body = { name: 'x', privileges: [{ scope: 'site', role: 'read', site_id }] }
      expect(await server.call('POST', orgTokens, { body })).toMatchObject({ status: 404, body: { id: site_id } })
    }
  })

  it('have at most the privileges of their creator', async () => {
    const siteId = await addSite(server, 'Mine')
    const other = await addSite(server, 'Not mine')
    const siteAdmin = await addPerson(server, [{ scope: 'site', role: 'admin', site_id: siteId }])
    const ask = (as: TestOrg, privileges: unknown) =>
      server.call('POST', orgTokens, { as, body: { name: 'x', privileges } })
    for (const privileges of [readAll, [{ scope: 'site', role: 'read', site_id: other }]])
      expect(await ask(siteAdmin, privileges)).toMatchObject(forbidden)
    const { status, body } = await ask(siteAdmin, [{ scope: 'site', role: 'write', site_id: siteId }])
    expect(status).toBe(200)
    expect((await server.call('GET', `/sites/${siteId}`, { as: holder(body.key) })).status).toBe(200)
    expect((await server.call('GET', `/sites/${other}`, { as: holder(body.key) })).status).toBe(404)
    for (const role of ['write', 'read', 'helpdesk', 'installer'] as const)
      expect(await ask(await addPerson(server, [{ scope: 'org', role }]), readAll)).toMatchObject(forbidden)
  })

  it('can change name and privileges, but never addresses', async () => {
    const created = await create(orgTokens, { name: 'x', privileges: readAll, src_ips: ['127.0.0.0/8', '::1'] })
    const path = `${orgTokens}/${created.id}`
    const put = (body: unknown) => server.call('PUT', path, { body })
    expect((await put({ src_ips: ['127.0.0.1'] })).status).toBe(400)
    expect((await put({ src_ips: [] })).status).toBe(400)
    const changed = await put({
      src_ips: ['127.0.0.0/8', '::1'],
      name: 'y',
      privileges: [{ scope: 'org', role: 'write' }],
    })
    expect(changed.body).toMatchObject({ name: 'y', privileges: [{ role: 'write' }], src_ips: ['127.0.0.0/8', '::1'] })
    expect((await server.call('GET', path)).body).toEqual(changed.body)
  })

  it('may do nothing without privileges, until an update grants some', async () => {
    const { id, key, ...created } = await create(orgTokens, { name: 'later' })
    expect(created).not.toHaveProperty('privileges')
    const read = () => server.call('GET', `/orgs/${server.org.orgId}`, { as: holder(key) })
    expect((await server.call('GET', '/self', { as: holder(key) })).body).toMatchObject({ privileges: [] })
    expect((await read()).status).toBe(404)
    expect((await server.call('PUT', `${orgTokens}/${id}`, { body: { name: 'renamed' } })).status).toBe(200)
    expect((await read()).status).toBe(404)
    const granted = await server.call('PUT', `${orgTokens}/${id}`, { body: { privileges: readAll } })
    expect(granted.body).toMatchObject({ name: 'renamed', privileges: readAll })
    expect((await read()).status).toBe(200)
  })

  it('return empty lists that were sent, and no others', async () => {
    const privileges = [{ scope: 'org', role: 'read', views: [] }]
    const created = await create(orgTokens, { name: 'x', privileges, src_ips: [] })
    expect(created).toMatchObject({ src_ips: [], privileges })
    const path = `${orgTokens}/${created.id}`
    expect((await server.call('GET', path)).body).toMatchObject({ src_ips: [], privileges })
    const without = await create(orgTokens, { name: 'y', privileges: readAll })
    const changed = await server.call('PUT', `${orgTokens}/${without.id}`, { body: { src_ips: [] } })
    expect(changed.body).toMatchObject({ src_ips: [] })
    expect((await server.call('GET', '/self', { as: holder(created.key) })).status).toBe(200)
  })

  it('work only from their addresses', async () => {
    const here = await create(orgTokens, { name: 'here', privileges: readAll, src_ips: ['127.0.0.1'] })
    const elsewhere = await create(orgTokens, { name: 'elsewhere', privileges: readAll, src_ips: ['10.0.0.0/8'] })
    expect((await server.call('GET', '/self', { as: holder(here.key) })).status).toBe(200)
    const headers = { 'x-forwarded-for': '10.0.0.1' }
    const refused = await server.call('GET', '/self', { as: holder(elsewhere.key), headers })
    expect(refused).toMatchObject({ status: 403, body: { detail: expect.stringContaining('address') } })
  })

  it.each([
    ['10.0.0.1', 200],
    ['::ffff:10.0.0.1', 200],
    ['198.51.100.1, 10.0.0.1', 200],
    ['10.0.0.1, 198.51.100.1', 403],
    ['unknown', 403],
    ['', 403],
  ])('use the last address that a trusted proxy reports: %j', async (forwardedFor, status) => {
    const { key } = await create(orgTokens, { name: 'far', privileges: readAll, src_ips: ['10.0.0.0/8'] })
    const headers = { authorization: `Token ${key}`, 'x-forwarded-for': forwardedFor }
    const answer = await new Promise<number | undefined>((resolve, reject) => {
      get(`${server.url}/api/v1/self`, { headers, localAddress: '127.0.0.2' }, (reply) => {
        reply.resume().on('end', () => resolve(reply.statusCode))
      }).on('error', reject)
    })
    expect(answer).toBe(status)
  })
})
