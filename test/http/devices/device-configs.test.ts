import { afterAll, beforeAll, expect, it } from 'vitest'
import { addSite, claimNewDevice } from '../../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
let paths: readonly string[]
beforeAll(async () => {
  server = await startTestServer()
  const siteId = await addSite(server)
  const device = await claimNewDevice(server, { siteId })
  await server.call('PUT', `/sites/${siteId}/devices/${device.id}`, { body: { radio_config: {} } })
  const [org, site] = [`/orgs/${server.org.orgId}/devices`, `/sites/${siteId}/devices`]
  paths = [`${org}/last_config`, `${site}/last_config`, `${site}/config_history`]
})
afterAll(() => server.close())

it('no search finds a configuration that was sent to a device, because none was', async () => {
  for (const path of paths) {
    const found = await server.call('GET', `${path}/search?mac=02:00:00:*&limit=7&sort=-timestamp&duration=2d`)
    expect(found).toMatchObject({ status: 200, body: { results: [], total: 0, limit: 7 } })
    expect(found.body.end - found.body.start).toBe(2 * 86_400)
    const counted = await server.call('GET', `${path}/count?distinct=mac`)
    expect(counted).toMatchObject({ status: 200, body: { results: [], total: 0, distinct: 'mac' } })
  }
})

it('the searches of the last configurations take the expiry of certificates, which newer clients ask for', async () => {
  for (const path of paths) {
    const { status, body } = await server.call('GET', `${path}/search?cert_expiry_duration=2d`)
    if (path.endsWith('/last_config')) expect([status, body.results]).toEqual([200, []])
    else expect(body.detail).toContain('Invalid field cert_expiry_duration: ')
  }
})

it('the searches check their queries', async () => {
  for (const path of paths)
    for (const query of ['mac=no', 'sort=mac', 'start=soon', 'limit=-1'])
      expect((await server.call('GET', `${path}/search?${query}`)).status, `${path} ${query}`).toBe(400)
})

it("devices can't be assigned by rules", async () => {
  expect(await server.call('POST', `/orgs/${server.org.orgId}/inventory/reevaluate_auto_assignment`)).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('assigned by rules') },
  })
})
