import { afterAll, beforeAll, expect, it } from 'vitest'
import { accessPoint, currentAccessPoint } from '../../../src/gateway/ucentral/state/samples.ts'
import { recordEnds } from '../../support/fleets/record.ts'
import {
  type MadeDevice,
  addSite,
  claimNewDevice,
  claimNewDevices,
  connectDevice,
  reportState,
} from '../../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'

let server: TestServer
let siteId: string
let elsewhere: string
let aps: MadeDevice[]
beforeAll(async () => {
  server = await startTestServer()
  siteId = await addSite(server)
  elsewhere = await addSite(server, 'There')
  aps = await claimNewDevices(server, 3, { siteId })
  const [connected, other] = aps
  if (connected === undefined || other === undefined) throw new Error('no devices')
  await reportState(server, await connectDevice(server.ctx, connected.mac), { state: currentAccessPoint, uptime: 100 })
  const past = await connectDevice(server.ctx, other.mac)
  await reportState(server, past, { state: accessPoint, uptime: 100 })
  await recordEnds(server.ctx, [past])
  const { mac } = await claimNewDevice(server, { siteId, model: 'EX4100-48P' })
  await connectDevice(server.ctx, mac, { type: 'switch' })
  await claimNewDevice(server, { siteId: elsewhere, model: 'SRX345' })
  await claimNewDevice(server)
})
afterAll(() => server.close())

async function get(path: string): Promise<AnyJson> {
  const { status, body } = await server.call('GET', path)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

const here = () => ({
  id: siteId,
  org_id: server.org.orgId,
  name: 'Here',
  timezone: 'UTC',
  tzoffset: 0,
  country_code: '',
  latlng: { lat: 0, lng: 0 },
  lat: 0,
  lng: 0,
  sitegroup_ids: [],
  created_time: expect.any(Number),
  modified_time: expect.any(Number),
  num_ap: 3,
  num_ap_connected: 1,
  num_switch: 1,
  num_switch_connected: 1,
  num_gateway: 0,
  num_gateway_connected: 0,
  num_devices: 4,
  num_devices_connected: 2,
  num_clients: 3,
})

it('counts the devices of a site by type, and the clients of connected access points', async () => {
  expect(await get(`/sites/${siteId}/stats`)).toEqual(here())
})

it('lists the same for all sites, page by page, with their places', async () => {
  const place = { country_code: 'DE', latlng: { lat: 52.5, lng: 13.4 }, address: 'Berlin', rftemplate_id: null }
  expect((await server.call('PUT', `/sites/${elsewhere}`, { body: place })).status).toBe(200)
  const there = { ...place, name: 'There', lat: 52.5, lng: 13.4, num_gateway: 1, num_devices: 1, num_clients: 0 }
  const path = `/orgs/${server.org.orgId}/stats/sites`
  expect(await get(path)).toEqual([here(), expect.objectContaining(there)])
  const { body, headers } = await server.call('GET', `${path}?limit=1&page=2`)
  expect(body).toMatchObject([{ id: elsewhere }])
  expect(headers.get('x-page-total')).toBe('2')
})

it('counts the sites and the devices of an organization', async () => {
  const zeros = '00000000-0000-0000-0000-000000000000'
  expect(await get(`/orgs/${server.org.orgId}/stats`)).toEqual({
    id: server.org.orgId,
    name: expect.any(String),
    allow_mist: false,
    session_expiry: 1440,
    alarmtemplate_id: zeros,
    msp_id: zeros,
    orggroup_ids: [],
    created_time: expect.any(Number),
    modified_time: expect.any(Number),
    num_sites: 2,
    num_inventory: 6,
    num_devices: 5,
    num_devices_connected: 2,
    num_devices_disconnected: 3,
    sle: [],
  })
})
