import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { DeviceCapabilities } from '../../../src/devices/tables.ts'
import { junosDriver } from '../../../src/gateway/netconf/driver.ts'
import { connectDevice } from '../../support/fleets/devices.ts'
import { NEW, type SeededOrg } from '../../support/fleets/fleet.ts'
import { type TestOrg, type TestServer, startTestServer } from '../../support/servers/server.ts'
import { addFleet } from './served-fleet.ts'

const reason =
  "the firmware of an SRX1500 cluster is not upgraded from here, because its preparations can't be checked: upgrade it on the gateway itself"
const capabilities: DeviceCapabilities = junosDriver.capabilitiesOf({
  mac: '02aabbccddee',
  model: 'SRX1500',
  serial: 'S',
  version: '1.0.0',
  type: 'gateway',
  members: [],
  nodes: (['node0', 'node1'] as const).map((node) => ({ node, isPresent: true, serial: node, version: '1.0.0' })),
  uptimeS: null,
  partUptimes: new Map(),
  backup: null,
})

let server: TestServer
let admin: TestOrg
let org: SeededOrg
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())
beforeEach(async () => {
  const seeds = [
    { devices: 1, name: 'Berlin', model: 'SRX1500', type: 'gateway' },
    { devices: 1, name: 'Tokyo' },
  ] as const
  ;({ admin, org } = await addFleet(server, seeds))
  await connectDevice(server.ctx, cluster().mac, { type: 'gateway', model: 'SRX1500', capabilities })
})

function cluster() {
  const [device] = org.sites[0]?.devices ?? []
  if (device === undefined) throw new Error('no device')
  return device
}
const call = (method: 'GET' | 'POST', path: string, body?: unknown) => server.call(method, path, { body, as: admin })
const rows = (table: 'deviceCommand' | 'upgradeTarget') =>
  server.ctx.db.selectFrom(table).select('deviceId').where('orgId', '=', admin.orgId).execute()

describe('an SRX cluster that is not upgraded in band', () => {
  test('is refused an upgrade of its own, before anything is planned', async () => {
    const path = `/sites/${org.sites[0]?.id}/devices/${cluster().id}/upgrade`
    expect(await call('POST', path, { version: NEW, reboot: true })).toMatchObject({
      status: 400,
      body: { detail: `Invalid field version: ${reason}` },
    })
    expect(await rows('upgradeTarget')).toEqual([])
  })

  test('is refused the upgrade of a site that has no other device', async () => {
    const path = `/sites/${org.sites[0]?.id}/devices/upgrade`
    expect(await call('POST', path, { version: NEW })).toMatchObject({
      status: 400,
      body: { detail: `Invalid field version: ${reason}` },
    })
  })

  test('is left out of the upgrade of an organization, with the reason in the record', async () => {
    const path = `/orgs/${admin.orgId}/devices/upgrade`
    const { status, body } = await call('POST', path, { all_sites: true, strategy: 'big_bang', version: NEW })
    expect(status).toBe(200)
    const read = await call('GET', `${path}/${body.id}`)
    const site = read.body.upgrades.find(({ site_id }: { site_id: string }) => site_id === org.sites[0]?.id)
    expect(site.upgrade).toMatchObject({
      status: 'completed',
      notes: [{ mac: cluster().mac, reason }],
      targets: { total: 0, scheduled: [], skipped: [] },
    })
    const targets = await rows('upgradeTarget')
    expect(targets).toEqual([{ deviceId: org.sites[1]?.devices[0]?.id }])
    expect(await rows('deviceCommand')).toEqual([])
  })
})
