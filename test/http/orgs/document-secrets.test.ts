import { afterAll, beforeAll, expect, it } from 'vitest'
import { addPerson } from '../../support/people.ts'
import { type TestOrg, type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
/** The path of each object, and the list that it is in; null: there is none. */
let objects: readonly (readonly [single: string | null, list: string | null])[]
const secrets = {
  vendor: { radius_secret: 'hunter2', servers: [{ password: 'hunter2', name: 'first' }] },
  portal_url: 'https://someone:hunter2@example.com/path',
}
const shown = { vendor: { servers: [{ name: 'first' }] }, portal_url: 'https://example.com/path' }

beforeAll(async () => {
  server = await startTestServer()
  const org = `/orgs/${server.org.orgId}`
  const make = async (path: string): Promise<string> => {
    const { status, body } = await server.call('POST', path, { body: { name: 'One', ...secrets } })
    expect({ status, body }).toMatchObject({ status: 200, body: secrets })
    return body.id
  }
  expect((await server.call('PUT', org, { body: secrets })).body).toMatchObject(secrets)
  const siteId = await make(`${org}/sites`)
  const groupId = await make(`${org}/sitegroups`)
  const maps = `/sites/${siteId}/maps`
  const mapId = await make(maps)
  await make(`/sites/${siteId}/mapstacks`)
  objects = [
    [org, null],
    [`/sites/${siteId}`, `${org}/sites`],
    [`${org}/sitegroups/${groupId}`, `${org}/sitegroups`],
    [`${maps}/${mapId}`, maps],
    [null, `/sites/${siteId}/mapstacks`],
  ]
})
afterAll(() => server.close())

/** Returns every object as the caller sees it. */
async function seenBy(as: TestOrg): Promise<unknown[]> {
  const answers = objects.flatMap(([single, list]) => [
    ...(single === null ? [] : [server.call('GET', single, { as }).then(({ body }) => body)]),
    ...(list === null ? [] : [server.call('GET', list, { as }).then(({ body }) => body[0])]),
  ])
  const seen = await Promise.all(answers)
  return seen.map(({ vendor, portal_url }) => ({ vendor, portal_url }))
}

it('secrets in organizations, sites, site groups, maps and map stacks are shown only to callers who may write', async () => {
  const reader = await addPerson(server, [{ scope: 'org', role: 'read' }])
  const writer = await addPerson(server, [{ scope: 'org', role: 'write' }])
  const before = await seenBy(reader)
  expect(before).toHaveLength(8)
  for (const seen of before) expect(seen).toEqual(shown)
  for (const seen of await seenBy(writer)) expect(seen).toEqual(secrets)
  // Equal reads at the same time share one query, but each caller sees only what its role allows.
  const both = await Promise.all([seenBy(reader), seenBy(writer), seenBy(reader)])
  expect(both[0]).toEqual(both[2])
  expect(JSON.stringify(both[0])).not.toContain('hunter2')
})

it('they are hidden from everyone if the organization is configured so, but for what a request writes', async () => {
  const setting = `/orgs/${server.org.orgId}/setting`
  await server.call('PUT', setting, { body: { api_policy: { no_reveal: true } } })
  for (const seen of await seenBy(server.org)) expect(seen).toEqual(shown)
  for (const [single] of objects) {
    if (single === null) continue
    const renamed = await server.call('PUT', single, { body: { name: 'Two' } })
    expect(renamed.body).toMatchObject({ name: 'Two', ...shown })
    expect(JSON.stringify(renamed.body)).not.toContain('hunter2')
    expect((await server.call('PUT', single, { body: secrets })).body).toMatchObject(secrets)
  }
  await server.call('PUT', setting, { body: { api_policy: { no_reveal: false } } })
})

it('a person who may write at one site sees those of that site', async () => {
  const single = objects[1]?.[0] ?? ''
  const siteId = single.split('/').at(-1) ?? ''
  const writer = await addPerson(server, [{ scope: 'site', role: 'write', site_id: siteId }])
  const { body } = await server.call('GET', single, { as: writer })
  expect(body).toMatchObject(secrets)
})
