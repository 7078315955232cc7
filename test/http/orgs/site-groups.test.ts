import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addSite } from '../../support/fleets/devices.ts'
import { addPerson } from '../../support/people.ts'
import { type TestOrg, type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
let path: string
beforeAll(async () => {
  server = await startTestServer()
  path = `/orgs/${server.org.orgId}/sitegroups`
})
afterAll(() => server.close())

async function addGroup(body: Record<string, unknown> = {}) {
  const answer = await server.call('POST', path, { body: { name: 'Group', ...body } })
  expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 200 })
  return answer.body
}

const groupsOf = async (siteId: string) => (await server.call('GET', `/sites/${siteId}`)).body.sitegroup_ids
const sitesOf = async (groupId: string) => (await server.call('GET', `${path}/${groupId}`)).body.site_ids
const putSite = (siteId: string, body: unknown, as: TestOrg = server.org) =>
  server.call('PUT', `/sites/${siteId}`, { as, body })

describe('site groups', () => {
  it('return what was set, and are listed in the order of their creation', async () => {
    const first = await addGroup({ name: 'First', later: { than: [1] }, id: randomUUID(), org_id: randomUUID() })
    expect(first).toMatchObject({ name: 'First', org_id: server.org.orgId, site_ids: [], later: { than: [1] } })
    const second = await addGroup({ name: 'Second' })
    expect((await server.call('GET', `${path}/${first.id}`)).body).toEqual(first)
    const list = await server.call('GET', `${path}?limit=1000`)
    const ids = list.body.map(({ id }: { id: string }) => id)
    expect(ids.indexOf(first.id)).toBeLessThan(ids.indexOf(second.id))
    expect(list.headers.get('x-page-total')).toBe(String(ids.length))
    const changed = await server.call('PUT', `${path}/${first.id}`, { body: { name: 'Changed', '-later': '' } })
    expect(changed.body).toMatchObject({ name: 'Changed', site_ids: [] })
    expect(changed.body).not.toHaveProperty('later')
  })

  it('stay consistent with their sites, whichever side changes', async () => {
    const [a, b] = [await addSite(server, 'A'), await addSite(server, 'B')]
    const group = await addGroup({ site_ids: [b, a, b] })
    expect(group.site_ids).toEqual([a, b].sort())
    const other = randomUUID()
    await putSite(a, { sitegroup_ids: [other, group.id] })
    await server.call('PUT', `${path}/${group.id}`, { body: { site_ids: [b.toUpperCase()] } })
    // The other ids of the site, known or not, are kept in their order.
    expect(await groupsOf(a)).toEqual([other])
    expect(await groupsOf(b)).toEqual([group.id])
    await putSite(a, { sitegroup_ids: [group.id.toUpperCase(), other] })
    expect(await sitesOf(group.id)).toEqual([a, b].sort())
    await server.call('PUT', `${path}/${group.id}`, { body: { name: 'Same sites' } })
    expect(await sitesOf(group.id)).toEqual([a, b].sort())
    await putSite(b, { '-sitegroup_ids': '' })
    expect(await sitesOf(group.id)).toEqual([a])
    await server.call('PUT', `${path}/${group.id}`, { body: { '-site_ids': '' } })
    expect(await sitesOf(group.id)).toEqual([])
    expect(await groupsOf(a)).toEqual([other])
  })

  it('refuse a site that is not in the organization, and change nothing', async () => {
    const other = await server.addOrg('Elsewhere')
    const theirs = await addSite(server, 'Theirs', other)
    const mine = await addSite(server, 'Mine')
    const group = await addGroup({ site_ids: [mine] })
    for (const siteId of [theirs, randomUUID()]) {
      const body = { name: 'Taken', site_ids: [siteId] }
      expect(await server.call('POST', path, { body })).toMatchObject({ status: 404, body: { id: siteId } })
      expect((await server.call('PUT', `${path}/${group.id}`, { body })).status).toBe(404)
    }
    expect((await server.call('GET', `${path}/${group.id}`)).body).toEqual(group)
    expect((await server.call('GET', `/sites/${theirs}`, { as: other })).body).not.toHaveProperty('sitegroup_ids')
  })

  it.each([[{ name: '' }], [{ name: 7 }], [{ site_ids: ['x'] }], [{ site_ids: 'all' }], [{ name: null }]])(
    'refuse %j',
    async (body) => {
      const answer = await server.call('POST', path, { body: { name: 'Group', ...body } })
      expect(answer.status).toBe(400)
      expect(answer.body.detail).toContain(Object.keys(body)[0])
    },
  )

  it('hide inaccessible sites', async () => {
    const [a, b] = [await addSite(server, 'Seen'), await addSite(server, 'Unseen')]
    const both = await addGroup({ site_ids: [a, b] })
    const unseen = await addGroup({ site_ids: [b] })
    const as = await addPerson(server, [{ scope: 'site', role: 'read', site_id: a }])
    const list = await server.call('GET', path, { as })
    expect(list.body).toEqual([{ ...both, site_ids: [a] }])
    expect((await server.call('GET', `${path}/${unseen.id}`, { as })).status).toBe(404)
    expect((await server.call('POST', path, { as, body: { name: 'Mine' } })).status).toBe(403)
  })

  it("can't be changed by a caller who may only write in a site, so that no caller gives away more than they have", async () => {
    const site = await addSite(server, 'Kept')
    const [held, mine] = [await addGroup({ name: 'Held', site_ids: [site] }), await addGroup({ name: 'Mine' })]
    // The caller administers `mine`: a site that joins it would be theirs to give away.
    const as = await addPerson(server, [
      { scope: 'site', role: 'write', site_id: site },
      { scope: 'sitegroup', role: 'admin', sitegroup_id: mine.id },
    ])
    for (const body of [{ sitegroup_ids: [held.id, mine.id] }, { sitegroup_ids: [] }, { '-sitegroup_ids': '' }]) {
      expect(await putSite(site, { ...body, notes: 'x' }, as), JSON.stringify(body)).toMatchObject({
        status: 403,
        body: { detail: expect.stringContaining('sitegroup_ids') },
      })
    }
    expect((await server.call('GET', `/sites/${site}`)).body).toMatchObject({ sitegroup_ids: [held.id], notes: '' })
    // Scripts send back what they have read.
    const echo = await putSite(site, { sitegroup_ids: [held.id.toUpperCase()], notes: 'echoed' }, as)
    expect(echo).toMatchObject({ status: 200, body: { sitegroup_ids: [held.id], notes: 'echoed' } })
  })

  it('have audit records with the sites before and after', async () => {
    const site = await addSite(server, 'Recorded')
    const group = await addGroup({ name: 'Recorded' })
    await server.call('PUT', `${path}/${group.id}`, { body: { site_ids: [site] } })
    const { body } = await server.call('GET', `/orgs/${server.org.orgId}/logs?limit=1`)
    expect(body.results[0]).toMatchObject({
      message: 'Update Site Group "Recorded"',
      before: { name: 'Recorded', site_ids: [] },
      after: { name: 'Recorded', site_ids: [site] },
    })
  })
})

it('secrets in organizations, sites and groups are omitted from the audit log', async () => {
  const org = `/orgs/${server.org.orgId}`
  const secret = { vendor: { api_key: 'h1dden' } }
  expect((await server.call('PUT', org, { body: secret })).body).toMatchObject(secret)
  expect((await server.call('POST', `${org}/sites`, { body: { name: 'S', ...secret } })).body).toMatchObject(secret)
  expect(await addGroup(secret)).toMatchObject(secret)
  await server.call('PUT', org, { body: { '-vendor': '' } })
  const { body } = await server.call('GET', `${org}/logs?limit=4`)
  expect(body.results).toHaveLength(4)
  expect(JSON.stringify(body)).toContain('"vendor":{}')
  expect(JSON.stringify(body)).not.toContain('h1dden')
})

describe('a deleted site group', () => {
  it('is removed from its sites and from every privilege, and its holders lose access', async () => {
    const site = await addSite(server, 'Grouped')
    const group = await addGroup({ name: 'Gone', site_ids: [site] })
    const grant = { scope: 'sitegroup', role: 'write', sitegroup_id: group.id } as const
    const onSite = { scope: 'site', role: 'read', site_id: site } as const
    const only = await addPerson(server, [grant])
    const also = await addPerson(server, [grant, onSite])
    const org = `/orgs/${server.org.orgId}`
    const token = async (name: string, privileges: unknown[]) =>
      (await server.call('POST', `${org}/apitokens`, { body: { name, privileges } })).body
    const onlyToken = await token('only', [grant])
    const alsoToken = await token('also', [onSite, { ...grant, sitegroup_id: group.id.toUpperCase() }])
    const role = await server.call('POST', `${org}/ssoroles`, { body: { name: 'branch', privileges: [grant] } })
    const invite = async (email: string, privileges: unknown[]) =>
      (await server.call('POST', `${org}/invites`, { body: { email, privileges } })).body
    const onlyInvite = await invite('only@example.test', [grant])
    await invite('also@example.test', [grant, onSite])
    expect((await server.call('GET', `/sites/${site}`, { as: only })).status).toBe(200)

    expect(await server.call('DELETE', `${path}/${group.id}`)).toMatchObject({ status: 200, body: {} })

    for (const method of ['GET', 'PUT', 'DELETE'])
      expect((await server.call(method, `${path}/${group.id}`)).status, method).toBe(404)
    expect(await groupsOf(site)).toEqual([])
    // A site may name the group again: former holders gain nothing by that.
    await putSite(site, { sitegroup_ids: [group.id] })
    expect((await server.call('GET', `/sites/${site}`, { as: only })).status).toBe(404)
    expect((await putSite(site, { notes: 'x' }, also)).status).toBe(403)
    const self = await server.call('GET', '/self', { as: also })
    expect(self.body.privileges).toMatchObject([{ scope: 'site', role: 'read' }])
    const asToken = { ...server.org, token: onlyToken.key }
    expect((await server.call('GET', `/sites/${site}`, { as: asToken })).status).toBe(401)
    const left = await server.call('GET', `${org}/apitokens/${alsoToken.id}`)
    expect(left.body.privileges).toMatchObject([onSite])
    // The role is empty, not deleted: an unknown role may mean the default role, which may be more.
    expect((await server.call('GET', `${org}/ssoroles/${role.body.id}`)).body.privileges).toEqual([])
    const invites = (await server.call('GET', `${org}/invites`)).body
    expect(invites.map(({ id }: { id: string }) => id)).not.toContain(onlyInvite.id)
    expect(invites).toMatchObject([{ email: 'also@example.test', privileges: [onSite] }])

    // It can't be granted either: a privilege of a missing group would wait for one.
    const give = { body: { name: 'late', privileges: [grant] } }
    for (const list of ['apitokens', 'ssoroles'])
      expect(await server.call('POST', `${org}/${list}`, give), list).toMatchObject({
        status: 404,
        body: { id: group.id },
      })

    const { results } = (await server.call('GET', `${org}/logs?message=Delete%20Site%20Group`)).body
    expect(results[0].before).toMatchObject({
      name: 'Gone',
      site_ids: [site],
      apitokens: ['only', 'also'],
      ssoroles: ['branch'],
      invites: expect.arrayContaining(['only@example.test', 'also@example.test']),
    })
    expect(results[0].before.admins).toHaveLength(2)
    const ownLog = await server.call('GET', '/self/logs', { as: only })
    expect(ownLog.body.results).toMatchObject([{ message: 'Delete Site Group "Gone"' }])
  })
})
