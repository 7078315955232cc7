import { afterAll, beforeAll, expect, it } from 'vitest'
import { type MadeDevice, addSite, claimNewDevice } from '../../support/fleets/devices.ts'
import { addPerson } from '../../support/people.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
let device: MadeDevice
let path: string
beforeAll(async () => {
  server = await startTestServer()
  const siteId = await addSite(server)
  device = await claimNewDevice(server, { siteId })
  path = `/sites/${siteId}/devices`
  const body = { name: 'Core', switch_mgmt: { root_password: 'hunter2', use_mxedge_proxy: true } }
  const { status, body: saved } = await server.call('PUT', `${path}/${device.id}`, { body })
  expect({ status, saved }).toMatchObject({ status: 200, saved: body })
})
afterAll(() => server.close())

it('passwords of a device are shown only to callers who may write', async () => {
  const reader = await addPerson(server, [{ scope: 'org', role: 'read' }])
  const [listed] = (await server.call('GET', path, { as: reader })).body
  const { body: single } = await server.call('GET', `${path}/${device.id}`, { as: reader })
  for (const shown of [listed, single]) expect(shown.switch_mgmt).toEqual({ use_mxedge_proxy: true })
  expect((await server.call('GET', path)).body[0].switch_mgmt.root_password).toBe('hunter2')
})

it('passwords of a device are hidden from everyone if the organization is configured so', async () => {
  const setting = `/orgs/${server.org.orgId}/setting`
  await server.call('PUT', setting, { body: { api_policy: { no_reveal: true } } })
  expect((await server.call('GET', `${path}/${device.id}`)).body.switch_mgmt).toEqual({ use_mxedge_proxy: true })
  const renamed = await server.call('PUT', `${path}/${device.id}`, { body: { name: 'Core 1' } })
  expect(renamed.body.switch_mgmt).toEqual({ use_mxedge_proxy: true })
  const written = { switch_mgmt: { root_password: 'hunter2', use_mxedge_proxy: true } }
  expect((await server.call('PUT', `${path}/${device.id}`, { body: written })).body).toMatchObject(written)
  await server.call('PUT', setting, { body: { api_policy: { no_reveal: false } } })
  expect((await server.call('GET', `${path}/${device.id}`)).body.switch_mgmt.root_password).toBe('hunter2')
})

it('passwords of a device are omitted from the audit log, whichever call changes the device', async () => {
  const mac = device.mac
  const installed = await server.call('PUT', `/installer/orgs/${server.org.orgId}/devices/${mac}`, {
    body: { name: 'Core 2' },
  })
  expect(installed.status).toBe(200)
  const other = await claimNewDevice(server)
  const replaced = await server.call('POST', `/orgs/${server.org.orgId}/inventory/replace`, {
    body: { mac, inventory_mac: other.mac },
  })
  expect(replaced.status, JSON.stringify(replaced.body)).toBe(200)
  const records = await server.ctx.db.selectFrom('auditLog').selectAll().execute()
  expect(JSON.stringify(records)).toContain('use_mxedge_proxy')
  expect(JSON.stringify(records)).not.toContain('hunter2')
})
