import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addPerson } from '../../support/people.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
let ids: Record<string, string>

/** Sites a, b and c: a with every setting changed, b in another country, c as created. */
beforeAll(async () => {
  server = await startTestServer()
  ids = {
    a: await addSite({ name: 'Alpha', country_code: 'DE', timezone: 'Europe/Berlin' }),
    b: await addSite({ name: 'Beta', country_code: 'US' }),
    c: await addSite({ name: 'gamma 100%' }),
  }
  await server.call('PUT', `/sites/${ids['a']}/setting`, {
    body: {
      wifi: { enabled: false, mesh_enabled: true },
      vna: { enabled: true },
      rogue: { honeypot_enabled: true },
      auto_upgrade: { enabled: true, version: 'beta' },
    },
  })
})
afterAll(() => server.close())

async function addSite(body: unknown): Promise<string> {
  return (await server.call('POST', `/orgs/${server.org.orgId}/sites`, { body })).body.id
}

const get = (what: string, as = server.org) => server.call('GET', `/orgs/${server.org.orgId}/sites/${what}`, { as })

async function found(query: string): Promise<string> {
  const { status, body } = await get(`search?${query}`)
  expect(status, query).toBe(200)
  return body.results.map(({ name }: { name: string }) => name[0]).join('')
}

describe('searching sites', () => {
  it('returns each site with values from its settings', async () => {
    const { body, headers } = await get('search?sort=name')
    expect(body).toMatchObject({ total: 3, limit: 100 })
    expect(headers.get('x-page-total')).toBe('3')
    expect([body.start, body.end].every(Number.isInteger)).toBe(true)
    expect(body.results[0]).toEqual({
      id: ids['a'],
      site_id: ids['a'],
      org_id: server.org.orgId,
      name: 'Alpha',
      timezone: 'Europe/Berlin',
      country_code: 'DE',
      timestamp: expect.any(Number),
      auto_upgrade_enabled: true,
      auto_upgrade_version: 'beta',
      honeypot_enabled: true,
      vna_enabled: true,
      wifi_enabled: false,
    })
    expect(body.results[2]).toMatchObject({ auto_upgrade_version: 'stable', wifi_enabled: true, vna_enabled: false })
    expect(body.results[2]).not.toHaveProperty('country_code')
  })

  it('filters', async () => {
    expect(await found('name=ALPH')).toBe('A')
    expect(await found('name=%25')).toBe('g')
    expect(await found('country_code=US')).toBe('B')
    expect(await found(`id=${ids['c']}`)).toBe('g')
    expect(await found('wifi_enabled=True&sort=name')).toBe('Bg')
    expect(await found('wifi_enabled=false&mesh_enabled=true&honeypot_enabled=true')).toBe('A')
    expect(await found('auto_upgrade_version=beta')).toBe('A')
    // The search uses the present state of sites, whenever it was set.
    expect(await found('end=-7d&sort=name')).toBe('ABg')
  })

  it('sorts and has pages', async () => {
    expect(await found('')).toBe('ABg')
    expect(await found('sort=-timestamp')).toBe('gBA')
    expect(await found('sort=-name')).toBe('gBA')
    expect(await found('sort=country_code')).toBe('ABg')
    const { body } = await get('search?limit=2&sort=name')
    expect(body.results).toHaveLength(2)
    const next = await server.call('GET', body.next.replace('/api/v1', ''))
    expect(next.body).toMatchObject({ total: 3, results: [{ name: 'gamma 100%' }] })
    expect(next.body).not.toHaveProperty('next')
    expect((await get('search?limit=2&page=9')).body).toMatchObject({ total: 3, results: [] })
  })

  it('uses the settings of the organization if the site has none', async () => {
    const auto = { enabled: true, version: 'custom' }
    await server.call('PUT', `/orgs/${server.org.orgId}/setting`, {
      body: { auto_upgrade: auto, wifi: { enabled: false } },
    })
    expect(await found('auto_upgrade_version=custom&auto_upgrade_enabled=true&wifi_enabled=true&sort=name')).toBe('Bg')
    await server.call('PUT', `/orgs/${server.org.orgId}/setting`, { body: { '-auto_upgrade': '', '-wifi': '' } })
  })

  it('hides the sites of other organizations', async () => {
    const as = await addPerson(server, [{ scope: 'site', role: 'read', site_id: ids['b'] ?? '' }])
    expect((await get('search', as)).body).toMatchObject({ total: 1, results: [{ name: 'Beta' }] })
    expect((await get('count?distinct=name', as)).body.results).toEqual([{ name: 'Beta', count: 1 }])
  })

  it.each(['sort=doc', 'wifi_enabled=2', 'id=x', 'start=soon'])('refuses %s', async (query) => {
    const answer = await get(`search?${query}`)
    expect(answer.status).toBe(400)
    expect(answer.body.detail).toContain(query.split('=')[0])
  })
})

describe('counting sites', () => {
  it('counts values as texts, the most frequent first', async () => {
    expect((await get('count?distinct=wifi_enabled')).body).toMatchObject({
      distinct: 'wifi_enabled',
      total: 2,
      results: [
        { wifi_enabled: 'true', count: 2 },
        { wifi_enabled: 'false', count: 1 },
      ],
    })
    const { body } = await get('count')
    expect(body).toMatchObject({ distinct: 'id', total: 3 })
    expect(body.results).toContainEqual({ id: ids['a'], count: 1 })
    const countries = (await get('count?distinct=country_code&limit=10')).body.results
    expect(countries).toContainEqual({ count: 1 })
    expect((await get('count?distinct=doc')).status).toBe(400)
  })
})
