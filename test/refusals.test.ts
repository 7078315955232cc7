import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { furtherRefusals } from '../scripts/contract/further-refusals.ts'
import { zip } from './maps/bundles.ts'
import { picture } from './maps/pictures.ts'
import { addSite, claimNewDevice, connectDevice } from './support/fleets/devices.ts'
import { NEW, createFleet, seedOrg } from './support/fleets/fleet.ts'
import { type FormPart, encodeForm } from './support/contract/forms.ts'
import { type Answer, type TestServer, startTestServer } from './support/servers/server.ts'

let server: TestServer
let world: World
beforeAll(async () => {
  server = await startTestServer()
  world = await makeWorld()
})
afterAll(() => server.close())

/** Paths of what the requests are about; the device is a connected switch. */
interface World {
  readonly org: string
  readonly installer: string
  readonly site: string
  readonly siteId: string
  readonly map: string
  readonly device: string
  readonly mac: string
  readonly role: string
  /** The ids of a connected switch for which there is firmware. */
  readonly upgradable: { readonly siteId: string; readonly deviceId: string }
}

async function makeWorld(): Promise<World> {
  const { orgId } = server.org
  const org = `/orgs/${orgId}`
  const siteId = await addSite(server)
  const site = `/sites/${siteId}`
  const device = await claimNewDevice(server, { siteId, type: 'switch', model: 'EX4100-48P' })
  await connectDevice(server.ctx, device.mac)
  const seeded = await seedOrg(server.ctx, [{ devices: 1, model: 'SW24', type: 'switch' }], orgId)
  const switches = seeded.sites.flatMap((of) => of.devices)
  await createFleet(server.ctx, [seeded]).connect(switches)
  const idOf = async (path: string, body: object): Promise<string> =>
    (await server.call('POST', path, { body })).body.id
  return {
    org,
    installer: `/installer/orgs/${orgId}`,
    site,
    siteId,
    map: `${site}/maps/${await idOf(`${site}/maps`, { name: 'Floor' })}`,
    device: `${site}/devices/${device.id}`,
    mac: device.mac,
    role: `${org}/ssoroles/${await idOf(`${org}/ssoroles`, { name: 'Role', privileges: [{ scope: 'org', role: 'read' }] })}`,
    upgradable: { siteId: seeded.sites[0]?.id ?? '', deviceId: switches[0]?.id ?? '' },
  }
}

type Attempt = (of: World) => Promise<Answer>

const call =
  (method: string, path: (of: World) => string, body?: (of: World) => object): Attempt =>
  (of) =>
    server.call(method, path(of), { ...(method !== 'GET' && { body: body?.(of) ?? '' }) })

const form =
  (path: (of: World) => string, parts: () => Promise<Record<string, string | FormPart>>): Attempt =>
  async (of) =>
    server.call('POST', path(of), await encodeForm(await parts()))

const importing = (options: object, more: Record<string, string> = {}): Attempt =>
  form(
    ({ site }) => `${site}/maps/import`,
    async () => ({
      file: { name: 'maps.zip', type: 'application/zip', bytes: await zip({ 'floor.png': await picture(9, 9) }) },
      json: JSON.stringify({ vendor_name: 'images', ...options }),
      ...more,
    }),
  )

/** Requests for each row of the table, by its words. */
const attempts: Readonly<Record<string, readonly Attempt[]>> = {
  'there is no other service to manage it': [
    call(
      'PUT',
      ({ org }) => `${org}/inventory`,
      ({ mac }) => ({ op: 'downgrade_to_jsi', macs: [mac] }),
    ),
  ],
  'edge appliances are not replaced here': [
    call(
      'POST',
      ({ org }) => `${org}/inventory/replace`,
      ({ mac, siteId }) => ({ site_id: siteId, mac, inventory_mac: '020000000009', tunterm_port_config: {} }),
    ),
  ],
  "Devices can't be assigned by rules": [call('POST', ({ org }) => `${org}/inventory/reevaluate_auto_assignment`)],
  'there are no RF templates': [
    call(
      'PUT',
      ({ installer }) => `${installer}/sites/There`,
      () => ({
        name: 'There',
        address: 'Here',
        country_code: 'DE',
        latlng: { lat: 1, lng: 1 },
        rftemplate_name: 'Loud',
      }),
    ),
  ],
  'there are no device profiles': [
    call(
      'PUT',
      ({ installer, mac }) => `${installer}/devices/${mac}`,
      () => ({ name: 'Door', deviceprofile_name: 'Outside' }),
    ),
    importing({}, { auto_deviceprofile_assignment: 'true' }),
  ],
  'is not a part of this form': [
    form(
      ({ device }) => `${device}/image1`,
      async () => ({ file: { name: 'a.png', type: 'image/png', bytes: await picture(9, 9) }, csv: 'mac' }),
    ),
  ],
  "can't be unset": ['-name', '-privileges'].map((field) =>
    call(
      'PUT',
      ({ role }) => role,
      () => ({ [field]: '' }),
    ),
  ),
  "the device can't ping from node": [
    call(
      'POST',
      ({ device }) => `${device}/ping`,
      () => ({ host: '192.0.2.1', node: 'node0' }),
    ),
  ],
  'no part of it can blink alone': [
    call(
      'POST',
      ({ device }) => `${device}/locate`,
      () => ({ mac: '020000000009' }),
    ),
  ],
  'is not possible: the device collects everything': ['code-dumps', 'messages', 'process'].map((info) =>
    call(
      'POST',
      ({ device }) => `${device}/support`,
      () => ({ info }),
    ),
  ),
  "the device can't collect from one node alone": [
    call(
      'POST',
      ({ device }) => `${device}/support`,
      () => ({ node: 'node0' }),
    ),
  ],
  "can't take effect yet": [
    call(
      'PUT',
      ({ org }) => `${org}/setting`,
      () => ({ api_policy: { src_ips: ['192.0.2.0/24'] } }),
    ),
  ],
  "projects of ibwave can't be read": [importing({ vendor_name: 'ibwave' })],
  "maps of jibestream can't be fetched": [
    call(
      'POST',
      ({ map }) => `${map}/wayfinding/import`,
      () => ({ vendor_name: 'jibestream', venue_id: 1 }),
    ),
  ],
  'can take a recovery snapshot': [
    call(
      'POST',
      ({ org }) => `${org}/devices/upgrade`,
      ({ upgradable: { siteId } }) => ({ site_ids: [siteId], snapshot: true }),
    ),
  ],
  'reboot to install firmware': [
    call(
      'POST',
      ({ upgradable: { siteId } }) => `/sites/${siteId}/devices/upgrade`,
      () => ({ version: NEW }),
    ),
    call(
      'POST',
      ({ upgradable: { siteId, deviceId } }) => `/sites/${siteId}/devices/${deviceId}/upgrade`,
      () => ({ version: NEW, reboot: false }),
    ),
  ],
  'needs a recent proof of who you are': [
    call(
      'POST',
      () => '/self/apitokens',
      () => ({ name: 'Another' }),
    ),
  ],
  'This needs the password': [
    call(
      'POST',
      () => '/self/two_factor/verify',
      () => ({ two_factor: '123456' }),
    ),
    call(
      'POST',
      () => '/self/update',
      () => ({ email: 'other@example.test' }),
    ),
    call('DELETE', () => '/self'),
  ],
  'is no parameter of this operation': [
    '/devices/search',
    '/inventory/search',
    '/sites/search',
    '/mxedges/search',
    '/devices/events/search',
  ].map((path) => call('GET', ({ org }) => `${org}${path}?search_after=x`)),
}

/** Tests that have the server or the hardware that other rows need. */
const elsewhere: Readonly<Record<string, string>> = {
  "The device can't upload to this server": 'http/devices/device-support.test.ts',
  "The agent of the edge appliance can't collect support files": 'edge/agent/support.test.ts',
}

it('has a request, or the test of another file, for each row of the table', () => {
  const tried = [...Object.keys(attempts), ...Object.keys(elsewhere)]
  expect(tried.toSorted()).toEqual([...new Set(furtherRefusals.map(({ words }) => words))].toSorted())
  for (const [words, file] of Object.entries(elsewhere))
    expect(readFileSync(fileURLToPath(new URL(file, import.meta.url)), 'utf8'), file).toContain(words)
})

it.each(Object.keys(attempts))('is refused by a running server: %s', async (words) => {
  for (const attempt of attempts[words] ?? []) {
    const { status, body } = await attempt(world)
    expect([400, 403]).toContain(status)
    expect([body.detail, ...[body.reason].flat()].join('\n')).toContain(words)
  }
})
