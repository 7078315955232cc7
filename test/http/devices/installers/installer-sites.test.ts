import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addSite } from '../../../support/fleets/devices.ts'
import { addPerson } from '../../../support/people.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from '../../../support/servers/server.ts'
import { createTestClock } from '../../../support/test-clock.ts'

const DAY_MS = 86_400_000
const place = { address: '1 High Street', country_code: 'GB', latlng: { lat: 51.5, lng: -0.1 } }

const clock = createTestClock()
let server: TestServer
let installer: TestOrg
let path: string
beforeAll(async () => {
  server = await startTestServer(clock)
  installer = await addPerson(server, [{ scope: 'org', role: 'installer' }])
  path = `/installer/orgs/${server.org.orgId}`
})
afterAll(() => server.close())

const get = (list: string, as = installer): Promise<Answer> => server.call('GET', `${path}/${list}`, { as })
const put = (name: string, body: unknown, as = installer): Promise<Answer> =>
  server.call('PUT', `${path}/sites/${name}`, { as, body })
const allow = (installers: unknown) =>
  server.call('PUT', `/orgs/${server.org.orgId}/setting`, { body: { installer: installers } })

async function names(as = installer): Promise<string[]> {
  const { status, body } = await get('sites?limit=1000', as)
  expect(status).toBe(200)
  return body.map(({ name }: { name: string }) => name)
}

async function countSites(): Promise<number> {
  const rows = await server.ctx.db.selectFrom('site').select('id').where('orgId', '=', server.org.orgId).execute()
  return rows.length
}

async function addGroup(name: string, as = server.org): Promise<string> {
  const { body } = await server.call('POST', `/orgs/${as.orgId}/sitegroups`, { as, body: { name } })
  return body.id
}

/** Creates something of the organization that has a privilege for the group. */
async function grant(list: string, body: object, groupId: string): Promise<void> {
  const privileges = [{ scope: 'sitegroup', role: 'read', sitegroup_id: groupId }]
  const answer = await server.call('POST', `/orgs/${server.org.orgId}/${list}`, { body: { ...body, privileges } })
  expect(answer.status).toBe(200)
}

async function siteNamed(name: string) {
  const { body } = await server.call('GET', `/orgs/${server.org.orgId}/sites?limit=1000`)
  return body.find((site: { name: string }) => site.name === name)
}

describe('a site by its name', () => {
  it('is created, then updated, with an audit record each', async () => {
    const groupId = await addGroup('West')
    const body = { name: 'New York', ...place, timezone: 'America/New_York', sitegroup_names: ['West'] }
    // Some clients encode a space like this.
    expect(await put('New+York', body)).toMatchObject({ status: 200, body: {} })
    const made = await siteNamed('New York')
    expect(made).toMatchObject({ ...place, timezone: 'America/New_York', sitegroup_ids: [groupId] })
    const moved = { ...place, address: '2 High Street' }
    expect((await put('New%20York', { name: 'New York', ...moved })).status).toBe(200)
    // Fields that the request omits keep their values.
    expect(await siteNamed('New York')).toMatchObject({ id: made.id, ...moved, sitegroup_ids: [groupId] })
    expect((await put('New+York', { name: 'Old York', ...place, sitegroup_names: [] })).status).toBe(200)
    expect(await siteNamed('Old York')).toMatchObject({ id: made.id, ...place, sitegroup_ids: [] })
    const unset = { '-timezone': '', '-sitegroup_names': '', '-rftemplate_name': '' }
    expect((await put('Old+York', { name: 'New York', ...place, sitegroup_names: ['West'] })).status).toBe(200)
    expect((await put('New+York', { name: 'Old York', ...place, ...unset })).status).toBe(200)
    expect(await siteNamed('Old York')).toMatchObject({ id: made.id, timezone: 'UTC', sitegroup_ids: [] })
    const audits = await server.ctx.db
      .selectFrom('auditLog')
      .selectAll()
      .where('siteId', '=', made.id)
      .orderBy('id')
      .execute()
    expect(audits.map(({ message }) => message)).toEqual([
      'Add Site "New York"',
      'Update Site "New York"',
      'Update Site "Old York"',
      'Update Site "New York"',
      'Update Site "Old York"',
    ])
    expect(audits.every(({ adminId }) => adminId === installer.adminId)).toBe(true)
  })

  it('is created once by concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => put('Race', { name: 'Race', ...place })))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200))
    expect((await names()).filter((name) => name === 'Race')).toEqual(['Race'])
  })

  it.each([
    ['a missing address', { name: 'Bad', country_code: 'GB', latlng: place.latlng }, 'address'],
    ['a missing country', { name: 'Bad', address: 'x', latlng: place.latlng }, 'country_code'],
    ['a missing position', { name: 'Bad', address: 'x', country_code: 'GB' }, 'latlng'],
    ['a place beyond the pole', { name: 'Bad', ...place, latlng: { lat: 91, lng: 0 } }, 'latlng.lat'],
    ['a missing name', place, 'name'],
    ['a name of 10,000 characters', { name: 'x'.repeat(10_000), ...place }, 'name'],
    ['an invalid time zone', { name: 'Bad', ...place, timezone: 'Mars/Base' }, 'timezone'],
    ['an unknown group', { name: 'Bad', ...place, sitegroup_names: ['Nowhere'] }, 'sitegroup_names.0'],
    ['an RF template', { name: 'Bad', ...place, rftemplate_name: 'rf' }, 'rftemplate_name'],
  ])('refuses %s', async (_what, body, field) => {
    const before = await countSites()
    expect(await put('Bad', body)).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining(`Invalid field ${field}: `) },
    })
    expect(await countSites()).toBe(before)
  })

  it("refuses names that a path can't contain, and stores nothing", async () => {
    const before = await countSites()
    for (const name of ['a/b', '../x', 'Paris 🗼', 'Caf\u2615\ufe0f', 'tab\there', 'x'.repeat(201)]) {
      const answer = await put(encodeURIComponent(name), { name, ...place })
      expect(answer, name).toMatchObject({
        status: 400,
        body: { detail: expect.stringContaining('Invalid field name: ') },
      })
    }
    const long = 'x'.repeat(10_000)
    for (const name of [long, encodeURIComponent('/'.repeat(3000)), encodeURIComponent('🗼'.repeat(1000))])
      expect((await put(name, { name: long, ...place })).status).toBeGreaterThanOrEqual(400)
    for (const name of ['a%2Fb', '%F0%9F%97%BC', long])
      for (const [method, rest] of [
        ['GET', 'maps'],
        ['POST', 'maps/00000000-0000-4000-8000-000000000001'],
      ] as const) {
        const options = { as: installer, ...(method === 'POST' && { body: {} }) }
        const { status } = await server.call(method, `${path}/sites/${name}/${rest}`, options)
        expect([400, 404, 414], name).toContain(status)
      }
    expect(await countSites()).toBe(before)
    // The check for emoji accepts languages other than English.
    expect((await put(encodeURIComponent('Zürich №1 東京'), { name: 'Zürich №1 東京', ...place })).status).toBe(200)
  })

  it('does not reuse the name of another site, and does not guess', async () => {
    await put('One', { name: 'One', ...place })
    await put('Two', { name: 'Two', ...place })
    expect(await put('One', { name: 'Two', ...place })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('Invalid field name: ') },
    })
    expect((await put('Nowhere', { name: 'Elsewhere', ...place })).status).toBe(404)
    await addSite(server, 'Twin')
    await addSite(server, 'Twin')
    expect((await put('Twin', { name: 'Twin', ...place })).status).toBe(400)
    await addGroup('Twins')
    await addGroup('Twins')
    expect((await put('One', { name: 'One', ...place, sitegroup_names: ['Twins'] })).status).toBe(400)
  })

  it('is looked up in its organization only', async () => {
    const stranger = await server.addOrg()
    await addGroup('Theirs', stranger)
    await addSite(server, 'Foreign', stranger)
    const answer = await put('One', { name: 'One', ...place, sitegroup_names: ['Theirs'] })
    expect(answer).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('Invalid field sitegroup_names.0: ') },
    })
    expect(await names()).not.toContain('Foreign')
  })
})

describe('the sites of installers', () => {
  it('are recently created ones, additional ones, or all; other sites are not found', async () => {
    const oldId = await addSite(server, 'Old')
    clock.advance(7 * DAY_MS + 1)
    await addSite(server, 'Young')
    expect(await names()).toEqual(['Young'])
    expect((await put('Old', { name: 'Old', ...place })).status).toBe(404)
    const maps = () => server.call('GET', `${path}/sites/Old/maps`, { as: installer })
    expect((await maps()).status).toBe(404)
    const form = { as: installer, body: '--x--', headers: { 'content-type': 'multipart/form-data; boundary=x' } }
    expect((await server.call('POST', `${path}/sites/Old/maps/import`, form)).status).toBe(404)
    await allow({ extra_site_ids: [oldId] })
    expect(await names()).toEqual(['Old', 'Young'])
    expect((await maps()).status).toBe(200)
    expect((await put('Old', { name: 'Old', ...place })).status).toBe(200)
    await allow({ allow_all_sites: true })
    expect(await names()).toEqual(expect.arrayContaining(['Old', 'One', 'Young']))
    await allow({})
    expect(await names(server.org)).toEqual(expect.arrayContaining(['Old', 'One', 'Young']))
  })

  it('are those of a privilege, which may not create new ones', async () => {
    const siteId = await addSite(server, 'Mine')
    clock.advance(30 * DAY_MS)
    const local = await addPerson(server, [{ scope: 'site', role: 'installer', site_id: siteId }])
    expect(await names(local)).toEqual(['Mine'])
    expect((await put('Mine', { name: 'Mine', ...place }, local)).status).toBe(200)
    expect((await put('Another', { name: 'Another', ...place }, local)).status).toBe(403)
    expect(await siteNamed('Another')).toBeUndefined()
  })

  it('keep their groups if a privilege names the site, because groups carry privileges', async () => {
    const siteId = await addSite(server, 'Grouped')
    await addGroup('South')
    clock.advance(30 * DAY_MS)
    const local = await addPerson(server, [{ scope: 'site', role: 'installer', site_id: siteId }])
    const inGroup = { name: 'Grouped', ...place, sitegroup_names: ['South'] }
    expect((await put('Grouped', inGroup, local)).status).toBe(403)
    expect((await put('Grouped', inGroup, server.org)).status).toBe(200)
    expect((await put('Grouped', inGroup, local)).status).toBe(200)
  })

  it('have every field that clients need', async () => {
    await addSite(server, 'Bare')
    await addGroup('East')
    await put('Full', { name: 'Full', ...place, sitegroup_names: ['East'] })
    const { body, headers } = await get('sites')
    expect(headers.get('x-page-total')).toBe('2')
    const none = { address: '', country_code: '', latlng: { lat: 0, lng: 0 }, timezone: 'UTC', sitegroup_names: [] }
    expect(body).toEqual([
      { id: expect.any(String), name: 'Bare', ...none },
      { id: expect.any(String), name: 'Full', ...place, timezone: 'UTC', sitegroup_names: ['East'] },
    ])
  })

  it.each([
    ['an admin', (group: string) => addPerson(server, [{ scope: 'sitegroup', role: 'read', sitegroup_id: group }])],
    ['a token', (group: string) => grant('apitokens', { name: 'Robot' }, group)],
    ['a role', (group: string) => grant('ssoroles', { name: 'Role' }, group)],
    ['an invitation', (group: string) => grant('invites', { email: 'new@example.test', hours: 1 }, group)],
  ])('keep the groups that the privileges of %s name', async (holder, give) => {
    const name = `Of ${holder}`
    await give(await addGroup(name))
    const inGroup = { name, ...place, sitegroup_names: [name] }
    const refused = { status: 403, body: { detail: expect.stringContaining(`"${name}"`) } }
    expect(await put(name, inGroup)).toMatchObject(refused)
    expect(await siteNamed(name)).toBeUndefined()
    expect((await put(name, inGroup, server.org)).status).toBe(200)
    expect((await put(name, inGroup)).status).toBe(200)
    expect(await put(name, { ...inGroup, sitegroup_names: [] })).toMatchObject(refused)
    expect((await siteNamed(name)).sitegroup_ids).toHaveLength(1)
  })
})

describe('choices for installers', () => {
  it('are the site groups, and empty lists for features that Signalbox does not have', async () => {
    const groups = await get('sitegroups')
    expect(groups.body).toContainEqual({ id: expect.any(String), name: 'West' })
    for (const list of ['alarmtemplates', 'deviceprofiles?type=switch', 'rftemplates']) {
      const answer = await get(list)
      expect(answer, list).toMatchObject({ status: 200, body: [] })
      expect(answer.headers.get('x-page-total')).toBe('0')
    }
    expect((await get('deviceprofiles?type=toaster')).status).toBe(400)
    const optimize = await server.call('GET', '/installer/sites/Bare/optimize', { as: installer })
    expect(optimize.status).toBe(404)
  })
})
