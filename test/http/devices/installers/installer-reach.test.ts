import { afterAll, beforeAll, expect, it } from 'vitest'
import { addPerson } from '../../../support/people.ts'
import { type TestOrg, type TestServer, startTestServer } from '../../../support/servers/server.ts'
import { type Areas, makeAreas } from '../../../tenancy/areas.ts'
import { callSample } from '../../../tenancy/call-sample.ts'

let server: TestServer
let areas: Areas
let ofOrg: TestOrg
beforeAll(async () => {
  server = await startTestServer()
  areas = await makeAreas(server)
  ofOrg = await addPerson(server, [{ scope: 'org', role: 'installer' }])
})
afterAll(() => server.close())

it("an installer can't create an organization", async () => {
  const answer = await server.call('POST', '/orgs', { as: ofOrg, body: { name: 'Own' } })
  expect(answer.status).toBe(403)
})

it('an installer can call all operations under /installer, in the order of an installation', async () => {
  const byId = new Map(server.operations.map((operation) => [operation.id, operation]))
  const own = Object.keys(areas.samples).flatMap((id) => byId.get(id) ?? [])
  const installers = own.filter(({ at }) => at.audience === 'installer')
  expect(installers.length).toBeGreaterThanOrEqual(18)
  for (const operation of installers) {
    const sample = areas.samples[operation.id] ?? {}
    const answer = await callSample(server, operation, { sample, ids: { ...areas.ids, ...sample.ids }, as: ofOrg })
    expect(answer, operation.id).toMatchObject({ status: 200 })
  }
})
