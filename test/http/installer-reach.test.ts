import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Operation, fetchOpenApi, operationsOf } from '../support/openapi.ts'
import { addPerson } from '../support/people.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from '../support/server.ts'
import { type Areas, makeAreas } from '../tenancy/areas.ts'

let server: TestServer
let areas: Areas
let operations: Operation[]
let ofOrg: TestOrg
let ofSite: TestOrg
beforeAll(async () => {
  server = await startTestServer()
  areas = await makeAreas(server)
  operations = operationsOf(await fetchOpenApi(server))
  ofOrg = await addPerson(server, [{ scope: 'org', role: 'installer' }])
  ofSite = await addPerson(server, [{ scope: 'site', role: 'installer', site_id: areas.ids['site_id'] ?? '' }])
})
afterAll(() => server.close())

/** Calls the operation's sample. */
async function call({ id, method, path }: Operation, as: TestOrg): Promise<Answer> {
  const { body, query, headers, ids } = areas.samples[id] ?? {}
  const filled = path
    .replace('/api/v1', '')
    .replaceAll(/\{(\w+)\}/g, (_all, name: string) => ({ ...areas.ids, ...ids })[name] ?? '')
  return server.call(method, query === undefined ? filled : `${filled}?${query}`, {
    as,
    ...(body !== undefined && { body }),
    ...(headers && { headers }),
  })
}

const isInstallers = ({ path }: Operation): boolean => path.startsWith('/api/v1/installer/')

it('an installer reaches nothing of an organization but what is under /installer', async () => {
  const others = operations.filter((operation) => operation.id in areas.samples && !isInstallers(operation))
  expect(others.length).toBeGreaterThan(80)
  for (const operation of others)
    for (const as of [ofOrg, ofSite]) {
      const { status, body } = await call(operation, as)
      expect([403, 404], `${operation.id}: ${JSON.stringify(body)}`).toContain(status)
    }
})

it('and makes no organization of their own', async () => {
  const answer = await server.call('POST', '/orgs', { as: ofOrg, body: { name: 'Own' } })
  expect(answer.status).toBe(403)
})

it('and reaches all that is under /installer, in the order in which it can be done', async () => {
  const own = Object.keys(areas.samples).flatMap((id) => operations.find((operation) => operation.id === id) ?? [])
  const installers = own.filter(isInstallers)
  expect(installers.length).toBeGreaterThanOrEqual(18)
  for (const operation of installers) expect(await call(operation, ofOrg), operation.id).toMatchObject({ status: 200 })
})
