import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type MadeDevice,
  addSite,
  claimNewDevice,
  claimNewDevices,
  connectDevice,
} from '../../support/fleets/devices.ts'
import { addPerson } from '../../support/people.ts'
import { type TestOrg, type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
let hereId: string
let thereId: string
let here: MadeDevice[]
let there: MadeDevice[]
let reader: TestOrg
/**
 * This caller may read one of the sites. The other site has more devices, some devices have no site, and there is a
 * Virtual Chassis.
 */
beforeAll(async () => {
  server = await startTestServer()
  hereId = await addSite(server, 'Here')
  thereId = await addSite(server, 'There')
  here = await claimNewDevices(server, 2, { siteId: hereId })
  there = await claimNewDevices(server, 3, { siteId: thereId })
  await claimNewDevices(server, 4)
  const chassis = await claimNewDevice(server, { siteId: thereId, model: 'EX4400-24P' })
  const mac = chassis.mac
  const members = [mac, 'aabbccddee98'].map((of, member) => ({
    member,
    mac: of,
    serial: `S${of}`,
    model: 'EX4400-24P',
    firmware: '1',
  }))
  await connectDevice(server.ctx, mac, { type: 'switch', model: 'EX4400-24P', members })
  await connectDevice(server.ctx, here[0]?.mac ?? '', { firmware: '7.1' })
  await server.call('POST', `/orgs/${server.org.orgId}/mxedges`, { body: { name: 'Edge', model: 'ME-VM' } })
  reader = await addPerson(server, [{ scope: 'site', role: 'read', site_id: hereId }])
})
afterAll(() => server.close())

const org = (path: string) => server.call('GET', `/orgs/${server.org.orgId}/${path}`, { as: reader })
const macsOf = (items: { mac: string }[]): string[] => items.map(({ mac }) => mac).sort()
const macs = (devices: MadeDevice[]): string[] => devices.map(({ mac }) => mac).sort()

describe('a caller who may read one site only', () => {
  it.each(['inventory', 'inventory?vc=true', 'stats/devices?type=all'])(
    'lists the devices of this site: %s',
    async (path) => {
      const { body, headers } = await org(path)
      expect(macsOf(body)).toEqual(macs(here))
      expect(headers.get('x-page-total')).toBe('2')
    },
  )

  it.each(['devices/search?type=all', 'inventory/search?type=all', 'inventory/search?type=all&text=a'])(
    'finds the devices of this site: %s',
    async (path) => {
      const all = (await server.call('GET', `/orgs/${server.org.orgId}/${path}`)).body.total
      const { body } = await org(path)
      expect(body.total).toBeLessThan(all)
      expect(macs(here)).toEqual(expect.arrayContaining(macsOf(body.results)))
    },
  )

  it.each(['type', 'model', 'site_id', 'version', 'status', 'mac', 'ip', 'hostname'])(
    'counts the devices of this site by %s',
    async (field) => {
      const { results } = (await org(`devices/count?type=all&distinct=${field}`)).body
      expect(results.reduce((sum: number, { count }: { count: number }) => sum + count, 0)).toBe(2)
    },
  )

  it('counts the inventory and sums up within this site', async () => {
    expect((await org('inventory/count?type=all')).body.results).toEqual([{ model: 'AP45', count: 2 }])
    expect((await org('inventory/count?type=all&distinct=status')).body.results).toHaveLength(2)
    expect((await org('devices/summary')).body).toMatchObject({
      num_aps: 2,
      num_switches: 0,
      num_unassigned_aps: 0,
      num_mxedges: 0,
    })
  })

  it('learns nothing about another site through a filter', async () => {
    const [other] = there
    for (const path of ['inventory', 'stats/devices'])
      expect((await org(`${path}?site_id=${thereId}`)).headers.get('x-page-total')).toBe('0')
    expect((await org(`inventory?vc_mac=${other?.mac}&vc=true`)).body).toEqual([])
    expect((await org('inventory?unassigned=true')).body).toEqual([])
    expect((await org(`devices/search?site_id=${thereId}`)).body.total).toBe(0)
    expect((await org(`inventory/search?site_id=${thereId}`)).body.total).toBe(0)
    expect((await org(`devices/count?site_id=${thereId}`)).body).toMatchObject({ total: 0, results: [] })
    expect((await server.call('GET', `/sites/${thereId}/devices/search`, { as: reader })).status).toBe(404)
  })

  it('sees only the events of this site', async () => {
    const { results, total } = (await org('devices/events/search?device_type=all')).body
    expect(total).toBe(3)
    expect(new Set(results.map(({ site_id }: { site_id: string }) => site_id))).toEqual(new Set([hereId]))
    expect((await org(`devices/events/search?device_type=all&mac=${there[0]?.mac}`)).body.total).toBe(0)
    expect((await org('devices/events/count?distinct=model')).body.results).toEqual([{ model: 'AP45', count: 3 }])
  })
})
