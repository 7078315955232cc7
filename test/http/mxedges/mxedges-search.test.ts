import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { addSite } from '../../support/fleets/devices.ts'
import { addCluster, addMxedge } from '../../support/fleets/mxedges.ts'
import { addPerson } from '../../support/people.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
let siteId: string
let mxedges: string
let a: AnyJson
let b: AnyJson
let cluster: AnyJson
beforeAll(async () => {
  server = await startTestServer()
  siteId = await addSite(server)
  mxedges = `/orgs/${server.org.orgId}/mxedges`
  cluster = await addCluster(server)
  b = await addMxedge(server, { name: 'b', model: 'ME-X5', mxcluster_id: cluster.id })
  const doc = { services: ['tunterm'], mxedge_mgmt: { fips_enabled: true, root_password: 'r00t' }, later: 1 }
  a = await addMxedge(server, { name: 'a', ...doc })
  await server.call('POST', `${mxedges}/assign`, { body: { mxedge_ids: [a.id], site_id: siteId } })
})
afterAll(() => server.close())

const get = async (path: string) => {
  const { status, body } = await server.call('GET', path)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}
const names = (answer: AnyJson) => answer.results.map(({ name }: { name: string }) => name)

describe('a search', () => {
  it('finds appliances by their properties, in the requested order', async () => {
    expect(names(await get(`${mxedges}/search?sort=name`))).toEqual(['a', 'b'])
    expect(names(await get(`${mxedges}/search?sort=-name`))).toEqual(['b', 'a'])
    expect(names(await get(`${mxedges}/search?sort=timestamp`))).toEqual(['b', 'a'])
    expect(names(await get(`${mxedges}/search?model=ME-X5&stats=True`))).toEqual(['b'])
    expect(names(await get(`${mxedges}/search?site_id=${siteId}`))).toEqual(['a'])
    expect(names(await get(`${mxedges}/search?mxcluster_id=${cluster.id}`))).toEqual(['b'])
    expect(names(await get(`${mxedges}/search?mxedge_id=${b.id}`))).toEqual(['b'])
    expect(names(await get(`${mxedges}/search?distro=bookworm`))).toEqual([])
    expect(names(await get(`${mxedges}/search?tunterm_version=1`))).toEqual([])
  })

  it('has pages, with a link to the next one', async () => {
    const first = await get(`${mxedges}/search?sort=name&limit=1`)
    expect(first).toMatchObject({ limit: 1, total: 2, start: expect.any(Number), end: expect.any(Number) })
    expect(first.next).toContain('page=2')
    const second = await get(first.next.replace('/api/v1', ''))
    expect(names(second)).toEqual(['b'])
    expect(second).not.toHaveProperty('next')
  })

  it.each(['sort=x', 'start=x', 'mxedge_id=x'])('refuses %s with the name of the field', async (query) => {
    const { status, body } = await server.call('GET', `${mxedges}/search?${query}`)
    expect([status, body.detail]).toEqual([400, expect.stringContaining(`Invalid field ${query.split('=')[0]}: `)])
  })

  it("is limited to the caller's sites", async () => {
    const as = await addPerson(server, [{ scope: 'site', site_id: siteId, role: 'read' }])
    const { body } = await server.call('GET', `${mxedges}/search`, { as })
    expect([names(body), body.total]).toEqual([['a'], 1])
    const events = await server.call('GET', `${mxedges}/events/search`, { as })
    expect(events.body.results).toMatchObject([{ mxedge_id: a.id, text: 'Assigned to site Here' }])
  })
})

describe('a count', () => {
  it.each([
    ['model', 2],
    ['site_id', 2],
    ['mxcluster_id', 2],
  ])('groups by %s', async (distinct, total) => {
    const counted = await get(`${mxedges}/count?distinct=${distinct}`)
    expect(counted).toMatchObject({ distinct, total })
    expect(counted.results.map(({ count }: { count: number }) => count)).toEqual([1, 1])
  })

  it('counts values as unknown that only an agent reports', async () => {
    for (const distinct of ['distro', 'tunterm_version'])
      expect((await get(`${mxedges}/count?distinct=${distinct}`)).results).toEqual([{ count: 2 }])
    expect((await get(`${mxedges}/count?model=ME-X5`)).results).toEqual([{ model: 'ME-X5', count: 1 }])
  })
})

describe('events', () => {
  it('are found by appliance, cluster, type and time, the newest first', async () => {
    const all = await get(`${mxedges}/events/search`)
    expect(all.results.map(({ text }: { text: string }) => text)).toEqual(['Assigned to site Here', 'Added', 'Added'])
    expect(all.results[0]).toMatchObject({
      type: 'ME_CONFIG_CHANGED_BY_USER',
      severity: 'info',
      mxedge_id: a.id,
      mxedge_name: 'a',
      site_id: siteId,
      audit_id: expect.any(String),
    })
    expect(all).toMatchObject({ total: 3, page: 1 })
    const totals = async (query: string) => (await get(`${mxedges}/events/search?${query}`)).total
    expect(await totals(`mxedge_id=${a.id}`)).toBe(2)
    expect(await totals(`mxcluster_id=${cluster.id}`)).toBe(1)
    expect(await totals('type=ME_CONFIG_CHANGED_BY_USER')).toBe(3)
    expect(await totals('type=ME_CONNECTED')).toBe(0)
    expect(await totals('service=tunterm')).toBe(0)
    expect(await totals('component=x')).toBe(0)
    expect(await totals('end=-1h')).toBe(0)
    const oldest = await get(`${mxedges}/events/search?sort=timestamp&limit=1`)
    expect(oldest.results).toMatchObject([{ mxedge_id: b.id }])
    expect((await get(`/sites/${siteId}/mxedges/events/search`)).results).toEqual([all.results[0]])
  })

  it('are counted', async () => {
    const count = (query: string) => get(`${mxedges}/events/count?${query}`)
    expect((await count('')).results).toEqual([
      { mxedge_id: a.id, count: 2 },
      { mxedge_id: b.id, count: 1 },
    ])
    expect((await count('distinct=type')).results).toEqual([{ type: 'ME_CONFIG_CHANGED_BY_USER', count: 3 }])
    expect((await count('distinct=package')).results).toEqual([{ count: 3 }])
    expect((await get(`/sites/${siteId}/mxedges/events/count`)).results).toEqual([{ mxedge_id: a.id, count: 1 }])
  })
})

describe('statistics', () => {
  it('show that nothing is connected, and no values that only an agent could report', async () => {
    const list = await get(`/orgs/${server.org.orgId}/stats/mxedges`)
    const one = await get(`/orgs/${server.org.orgId}/stats/mxedges/${a.id}?for_site=false`)
    expect(list).toContainEqual(one)
    const { id, created_time, modified_time, ...rest } = one
    expect([id, created_time < modified_time]).toEqual([a.id, true])
    expect(rest).toEqual({
      org_id: server.org.orgId,
      site_id: siteId,
      for_site: true,
      name: 'a',
      model: 'ME-VM',
      status: 'disconnected',
      mxagent_registered: false,
      tunterm_registered: false,
      services: ['tunterm'],
      fips_enabled: true,
    })
  })

  it('are available at the site too', async () => {
    expect(await get(`/sites/${siteId}/stats/mxedges`)).toMatchObject([{ id: a.id }])
    expect(await get(`/sites/${siteId}/stats/mxedges/${a.id}`)).toMatchObject({ id: a.id })
    expect((await server.call('GET', `/sites/${siteId}/stats/mxedges/${b.id}`)).status).toBe(404)
    expect(await get(`/orgs/${server.org.orgId}/stats/mxedges?for_site=false`)).toMatchObject([{ id: b.id }])
  })
})
