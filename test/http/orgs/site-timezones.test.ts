import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

let now = new Date('2025-03-01T12:00:00Z')
let server: TestServer
let sites: string
beforeAll(async () => {
  server = await startTestServer({ now: () => now })
  sites = `/orgs/${server.org.orgId}/sites`
})
afterAll(() => server.close())

it.each([
  ['UTC', 0, 0],
  ['Europe/Zurich', 60, 120],
  ['America/Los_Angeles', -480, -420],
  ['Asia/Kolkata', 330, 330],
])('a site in %s says how far its zone is ahead of UTC, in winter and in summer', async (timezone, winter, summer) => {
  now = new Date('2025-03-01T12:00:00Z')
  const { body: made } = await server.call('POST', sites, { body: { name: timezone, timezone } })
  expect(made).toMatchObject({ timezone, tzoffset: winter })
  now = new Date('2025-04-01T12:00:00Z')
  expect((await server.call('GET', `/sites/${made.id}`)).body).toMatchObject({ tzoffset: summer })
  const { body: list } = await server.call('GET', sites)
  expect(list).toContainEqual(expect.objectContaining({ id: made.id, tzoffset: summer }))
})

it('ignores an offset that a client sends: the zone decides', async () => {
  const { body: made } = await server.call('POST', sites, { body: { name: 'Copy', tzoffset: 7 } })
  expect(made).toMatchObject({ tzoffset: 0 })
  const change = { timezone: 'Asia/Tokyo', tzoffset: made.tzoffset }
  expect((await server.call('PUT', `/sites/${made.id}`, { body: change })).body).toMatchObject({ tzoffset: 540 })
})
