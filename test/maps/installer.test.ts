import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addSite } from '../support/fleets/devices.ts'
import { addPerson } from '../support/people.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'

let server: TestServer
let siteId: string
let installer: TestOrg
beforeAll(async () => {
  server = await startTestServer()
  siteId = await addSite(server, 'Main Street 5')
  installer = await addPerson(server, [{ scope: 'org', role: 'installer' }])
})
afterAll(() => server.close())

const at = (name: string, mapId: string) => `/installer/orgs/${server.org.orgId}/sites/${name}/maps/${mapId}`
const main = (mapId: string) => at('Main%20Street%205', mapId)
const call = (method: string, path: string, body?: unknown, as = installer): Promise<Answer> =>
  server.call(method, path, { as, ...(body !== undefined && { body }) })

describe('an installer', () => {
  it('creates a map with an id of their own, updates, lists and deletes it', async () => {
    const id = randomUUID()
    const body = { name: 'Hall', type: 'map_vendor', view: 'satellite', latlng_tl: { lat: '1', lng: '2' } }
    const made = await call('POST', main(id), body)
    expect(made).toMatchObject({ status: 200, body: { id, org_id: server.org.orgId, site_id: siteId, ...body } })
    expect(made.body).toMatchObject({ for_site: true, locked: false, orientation: 0 })
    expect(await call('PUT', main(id), { orientation: 359 })).toMatchObject({ status: 200, body: { orientation: 359 } })
    const list = await call('GET', `${main('').slice(0, -1)}?limit=5`)
    expect(list.body).toMatchObject([{ id, orientation: 359 }])
    expect(list.headers.get('x-page-total')).toBe('1')
    expect(await call('DELETE', main(id))).toMatchObject({ status: 200, body: {} })
    expect((await call('DELETE', main(id))).status).toBe(404)
    expect((await call('PUT', main(id), {})).status).toBe(404)
  })

  it('may create it with an empty body, repeatedly', async () => {
    const id = randomUUID()
    expect(await server.call('POST', main(id), { as: installer })).toMatchObject({ status: 200, body: { id } })
    await call('POST', main(id), { name: 'Hall', ppm: 4 })
    expect(await call('POST', main(id), { name: 'Hall 2' })).toMatchObject({ body: { id, name: 'Hall 2', ppm: 4 } })
  })

  it('that repeats the request concurrently creates one map', async () => {
    const id = randomUUID()
    const answers = await Promise.all([1, 2, 3, 4].map((ppm) => call('POST', main(id), { ppm })))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    const rows = await server.ctx.db.selectFrom('siteMap').select('id').where('id', '=', id).execute()
    expect(rows).toHaveLength(1)
  })

  it("can't reach the map of another site, and another organization may use the same id", async () => {
    const id = randomUUID()
    await addSite(server, 'Next door')
    await call('POST', main(id), { name: 'Mine' })
    for (const method of ['POST', 'PUT', 'DELETE'])
      expect((await call(method, at('Next%20door', id), method === 'DELETE' ? {} : { name: 'Theirs' })).status).toBe(
        404,
      )
    const other = await server.addOrg('Other')
    await addSite(server, 'Main Street 5', other)
    const path = main(id).replace(server.org.orgId, other.orgId)
    expect(await call('POST', path, { name: 'Other' }, other)).toMatchObject({ status: 200, body: { name: 'Other' } })
    expect(await call('PUT', main(id), {})).toMatchObject({ body: { name: 'Mine' } })
  })

  it('with single sites finds these by name and no others', async () => {
    const ofSite = await addPerson(server, [{ scope: 'site', role: 'installer', site_id: siteId }])
    await addSite(server, 'Forbidden')
    expect((await call('POST', main(randomUUID()), {}, ofSite)).status).toBe(200)
    expect((await call('POST', at('Forbidden', randomUUID()), {}, ofSite)).status).toBe(404)
    const reader = await addPerson(server, [{ scope: 'org', role: 'read' }])
    expect((await call('POST', main(randomUUID()), {}, reader)).status).toBe(403)
    // A caller who is only an installer has no other access to maps.
    expect((await call('GET', `/sites/${siteId}/maps`)).status).toBe(403)
  })

  it.each([
    ['orientation', { orientation: 360 }],
    ['mapstack_floor', { mapstack_floor: -1 }],
    ['type', { type: 'x' }],
    ['wall_path.nodes.0.position.x', { wall_path: { nodes: [{ position: { x: '1' } }] } }],
  ])('gets an error that names the wrong field: %s', async (field, body) => {
    const id = randomUUID()
    expect(await call('POST', main(id), body)).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining(`Invalid field ${field}: `), reason: expect.any(String) },
    })
    expect((await call('PUT', main(id), {})).status).toBe(404)
  })

  it('gets an error for an invalid id', async () => {
    expect((await call('POST', main('hall'), {})).status).toBe(404)
  })
})

describe('the name of a site', () => {
  it.each(['A/B & C', 'Zürich 🛰️', '50% off', 'a+b', '  padded  ', 'a..b', 'Ein "Name"', 'x'.repeat(190)])(
    'may be %j',
    async (name) => {
      const id = await addSite(server, name)
      const answer = await call('POST', at(encodeURIComponent(name), randomUUID()), {})
      expect(answer).toMatchObject({ status: 200, body: { site_id: id } })
    },
  )

  it('may contain a plus for a space, but a real plus takes precedence', async () => {
    const spaced = await addSite(server, 'North Wing 1')
    expect((await call('POST', at('North+Wing+1', randomUUID()), {})).body.site_id).toBe(spaced)
    const plus = await addSite(server, 'North+Wing+1')
    expect((await call('POST', at('North+Wing+1', randomUUID()), {})).body.site_id).toBe(plus)
    const both = await addSite(server, 'C++ Lab')
    expect((await call('POST', at('C%2B%2B+Lab', randomUUID()), {})).body.site_id).toBe(both)
  })

  it.each(['Nowhere', 'x'.repeat(10_000), '%00', '%FF', '%F0%9F%9B%B0', ' '])(
    'is refused if no site has it: %#',
    async (name) => {
      const answer = await call('POST', at(name, randomUUID()), {})
      expect(answer.status).toBeGreaterThanOrEqual(400)
      expect(answer.status).toBeLessThan(500)
    },
  )
})
