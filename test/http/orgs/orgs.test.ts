import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addSite } from '../../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

async function createSite(body: Record<string, unknown>) {
  const answer = await server.call('POST', `/orgs/${server.org.orgId}/sites`, { body })
  expect(answer.status).toBe(200)
  return answer.body
}

async function lastLog() {
  const { body } = await server.call('GET', `/orgs/${server.org.orgId}/logs?limit=1`)
  return body.results[0]
}

describe('organizations', () => {
  it('have their creator as an administrator', async () => {
    const other = await server.addOrg('Creator')
    const { status, body } = await server.call('POST', '/orgs', {
      as: other,
      body: { name: 'Second', custom: [3, 1, 2] },
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({ name: 'Second', allow_mist: false, session_expiry: 1440, custom: [3, 1, 2] })
    const self = await server.call('GET', '/self', { as: other })
    expect(self.body.privileges).toContainEqual(expect.objectContaining({ org_id: body.id, role: 'admin' }))
    expect((await server.call('GET', `/orgs/${body.id}`, { as: other })).body).toEqual(body)
  })

  it('shorten sessions as configured', async () => {
    const other = await server.addOrg('Short sessions')
    await server.call('PUT', `/orgs/${other.orgId}`, { as: other, body: { session_expiry: 10 } })
    const { headers } = await server.call('POST', '/login', {
      as: null,
      body: { email: other.email, password: other.password },
    })
    const cookie = headers.getSetCookie().find((line) => line.startsWith('sessionid='))
    const expires = Date.parse(/Expires=([^;]+)/i.exec(cookie ?? '')?.[1] ?? '')
    expect(expires - Date.now()).toBeGreaterThan(8 * 60_000)
    expect(expires - Date.now()).toBeLessThan(11 * 60_000)
  })
})

describe('sites', () => {
  it('return what the client set and omit what it never set', async () => {
    const site = await createSite({
      name: 'HQ',
      timezone: 'Europe/Berlin',
      sitegroup_ids: [],
      vars: { b: 1, a: [2, 1] },
    })
    expect(site).toMatchObject({ org_id: server.org.orgId, notes: '', vars: { b: 1, a: [2, 1] } })
    expect(site).not.toHaveProperty('address')
    expect((await server.call('GET', `/sites/${site.id}`)).body).toEqual(site)
  })

  it('accept null for missing values, and omit it where clients could not read it', async () => {
    const latlng = { lat: 37.3, lng: -122 }
    const site = await createSite({ name: 'Nowhere', country_code: 'DE', latlng })
    const body = { country_code: null, latlng: null, address: null }
    const changed = await server.call('PUT', `/sites/${site.id}`, { body })
    expect(changed).toMatchObject({ status: 200, body: { address: null } })
    for (const name of ['country_code', 'latlng']) expect(changed.body).not.toHaveProperty(name)
    expect(await createSite({ name: 'No zone', timezone: null })).toMatchObject({ timezone: 'UTC' })
  })

  it('merge an update at the top level and unset fields by a minus sign', async () => {
    const site = await createSite({ name: 'Merge', address: 'here', vars: { a: 1 } })
    const { body } = await server.call('PUT', `/sites/${site.id}`, { body: { vars: { b: 2 }, '-address': '' } })
    expect(body).toMatchObject({ name: 'Merge', vars: { b: 2 } })
    expect(body).not.toHaveProperty('address')
    expect(body).not.toHaveProperty('-address')
  })

  it('never accept ids and times from a client', async () => {
    const site = await createSite({ name: 'Ids', id: server.org.orgId, org_id: server.org.adminId, created_time: 1 })
    expect(site.id).not.toBe(server.org.orgId)
    expect(site.org_id).toBe(server.org.orgId)
    expect(site.created_time).toBeGreaterThan(1)
  })

  it('are looked up with the token, each for its own request', async () => {
    const other = await server.addOrg('Neighbor')
    const foreign = await addSite(server, 'Foreign', other)
    const [first, second] = [await addSite(server, 'First'), await addSite(server, 'Second')]
    const unknown = '00000000-0000-4000-8000-000000000000'
    const ids = [first, second.toUpperCase(), foreign, unknown, first, 'no-id']
    const answers = await Promise.all(ids.map((id) => server.call('GET', `/sites/${id}`)))
    expect(answers.map(({ status, body }) => (status === 200 ? body.id : status))).toEqual([
      first,
      second,
      404,
      404,
      first,
      404,
    ])
    expect((await server.call('PUT', `/sites/${foreign}`, { body: { name: 'Mine' } })).status).toBe(404)
    await server.call('DELETE', `/sites/${first}`)
    expect((await server.call('GET', `/sites/${first}`)).status).toBe(404)
  })

  it('have pages with headers, sorted by name', async () => {
    const other = await server.addOrg('Pages')
    for (const name of ['c', 'a', 'b'])
      await server.call('POST', `/orgs/${other.orgId}/sites`, { as: other, body: { name } })
    const page = await server.call('GET', `/orgs/${other.orgId}/sites?limit=2&page=2`, { as: other })
    expect(page.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(page.body.map(({ name }: { name: string }) => name)).toEqual(['c'])
    expect(Object.fromEntries(page.headers)).toMatchObject({
      'x-page-total': '3',
      'x-page-limit': '2',
      'x-page-page': '2',
    })
    const past = await server.call('GET', `/orgs/${other.orgId}/sites?limit=2&page=9`, { as: other })
    expect(past.body).toEqual([])
    expect(past.headers.get('x-page-total')).toBe('3')
    const unset = await server.call('GET', `/orgs/${other.orgId}/sites?limit=0&page=`, { as: other })
    expect(unset.headers.get('x-page-limit')).toBe('100')
  })

  it('have audit records with the state before and after, the actor and the address', async () => {
    const site = await createSite({ name: 'Audited' })
    await server.call('PUT', `/sites/${site.id}`, { body: { notes: 'new' }, headers: { 'user-agent': 'test/1' } })
    expect(await lastLog()).toMatchObject({
      message: 'Update Site "Audited"',
      site_id: site.id,
      for_site: true,
      admin_id: server.org.adminId,
      admin_name: server.org.email,
      src_ip: '127.0.0.1',
      user_agent: 'test/1',
      before: { name: 'Audited' },
      after: { name: 'Audited', notes: 'new' },
    })
  })
})

describe('audit log', () => {
  it('filters, sorts, and links to the next page', async () => {
    const path = `/orgs/${server.org.orgId}/logs`
    const all = await server.call('GET', `${path}?duration=1h&sort=timestamp&limit=2`)
    expect(all.body.total).toBeGreaterThan(2)
    expect(all.body.next).toContain('page=2')
    const times = all.body.results.map(({ timestamp }: { timestamp: number }) => timestamp)
    expect(times).toEqual([...times].sort((a, b) => a - b))
    const some = await server.call('GET', `${path}?message=update%20SITE`)
    expect(some.body.results.every(({ message }: { message: string }) => message.startsWith('Update Site'))).toBe(true)
    expect((await server.call('GET', `${path}?message=%25`)).body.total).toBe(0)
    expect((await server.call('GET', `${path}?end=-1h`)).body.total).toBe(0)
    const { body: newer } = await server.call('GET', `${path}/search?duration=1h&sort=timestamp&limit=2`)
    expect(newer.results).toEqual(all.body.results)
    expect(newer.next).toContain('/logs/search?')
  })

  it('counts admins, messages and sites', async () => {
    const other = await server.addOrg('Counted')
    const path = `/orgs/${other.orgId}/logs/count`
    const count = async (query: string) => (await server.call('GET', `${path}?${query}`, { as: other })).body
    await addSite(server, 'One', other)
    const siteId = await addSite(server, 'Two', other)
    for (const notes of ['a', 'b', 'c']) await server.call('PUT', `/sites/${siteId}`, { as: other, body: { notes } })
    const messages = await count('distinct=message')
    expect(messages.results[0]).toEqual({ message: 'Update Site "Two"', count: 3 })
    expect(messages).toMatchObject({ distinct: 'message', limit: 100 })
    expect(await count(`distinct=site_id&message=site&limit=1`)).toMatchObject({
      total: 2,
      results: [{ site_id: siteId, count: 4 }],
    })
    expect((await count('message=site')).results).toEqual([{ admin_name: other.email, count: 5 }])
    expect((await count(`distinct=admin_id&message=site&admin_id=${server.org.adminId}`)).results).toEqual([])
    expect((await server.call('GET', `${path}?distinct=src_ip`, { as: other })).status).toBe(400)
  })

  it.each(['start=soon', 'duration=1y', 'end=99999999999999', 'sort=colour', 'site_id=x'])(
    'refuses %s',
    async (query) => {
      const { status, body } = await server.call('GET', `/orgs/${server.org.orgId}/logs?${query}`)
      expect(status).toBe(400)
      expect(body.detail).toContain(query.split('=')[0])
    },
  )
})
