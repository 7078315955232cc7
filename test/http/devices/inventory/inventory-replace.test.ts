import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { filterKnownDeviceImages } from '../../../../src/devices/images/store.ts'
import { picture } from '../../../maps/pictures.ts'
import {
  type MadeDevice,
  addSite,
  claimNewDevice,
  claimNewDevices,
  makeDevices,
} from '../../../support/fleets/devices.ts'
import { encodeForm } from '../../../support/contract/forms.ts'
import { addPerson } from '../../../support/people.ts'
import { type Answer, type TestServer, startTestServer } from '../../../support/servers/server.ts'
import { createTestClock } from '../../../support/test-clock.ts'

const clock = createTestClock()
let server: TestServer
let siteId: string
let path: string
beforeAll(async () => {
  server = await startTestServer(clock)
  siteId = await addSite(server)
  path = `/orgs/${server.org.orgId}/inventory`
})
afterAll(() => server.close())

const replace = (body: unknown): Promise<Answer> => server.call('POST', `${path}/replace`, { body })

const claimed = (traits: Parameters<typeof claimNewDevice>[1] = {}): Promise<MadeDevice> =>
  claimNewDevice(server, traits)

async function inventory({ mac }: MadeDevice) {
  return (await server.call('GET', `${path}?mac=${mac}`)).body[0]
}

const document = async ({ id }: MadeDevice, site = siteId) =>
  (await server.call('GET', `/sites/${site}/devices/${id}`)).body

async function newMap(): Promise<string> {
  return (await server.call('POST', `/sites/${siteId}/maps`, { body: { name: 'Floor', type: 'image' } })).body.id
}

async function addImage({ id }: MadeDevice, number: number): Promise<void> {
  const form = await encodeForm({ file: { name: 'a.png', type: 'image/png', bytes: await picture(8, 8) } })
  const answer = await fetch(`${server.url}/api/v1/sites/${siteId}/devices/${id}/image${number}`, {
    method: 'POST',
    headers: { authorization: `Token ${server.org.token}`, ...form.headers },
    body: new Uint8Array(form.body),
  })
  expect(answer.status).toBe(200)
}

/** Reads everything that a replacement changes. */
async function snapshot(): Promise<unknown> {
  const { db } = server.ctx
  return Promise.all([
    db.selectFrom('device').selectAll().orderBy('id').execute(),
    db.selectFrom('deviceImage').selectAll().orderBy('name').execute(),
    db.selectFrom('auditLog').select('id').orderBy('id').execute(),
    db.selectFrom('deviceEvent').select('id').orderBy('id').execute(),
  ])
}

describe('replacing a device', () => {
  it('transfers configuration and place to a device of the inventory, with one audit record and events', async () => {
    const [old, fresh] = [await claimed({ siteId }), await claimed({ model: 'AP47' })]
    const place = { map_id: await newMap(), x: 10, y: 20.5, height: 3, role: 'access', notes: 'by the door' }
    await server.call('PUT', `/sites/${siteId}/devices/${old.id}`, { body: { name: 'Lobby', ...place } })
    await addImage(old, 2)
    const { image2_url: url } = await document(old)
    const spelled = (fresh.mac.toUpperCase().match(/../g) ?? []).join(':')
    expect(await replace({ mac: old.mac, inventory_mac: spelled, site_id: siteId })).toMatchObject({
      status: 200,
      body: { op: 'assign', success: [spelled], error: [], reason: [] },
    })
    const after = await document(fresh)
    expect(after).toMatchObject({ name: 'Lobby', model: 'AP47', serial: fresh.serial, site_id: siteId, ...place })
    expect(after.image2_url).toBe(url)
    const left = await inventory(old)
    expect(left).toMatchObject({ name: '', serial: old.serial })
    expect(left).not.toHaveProperty('site_id')

    const { db } = server.ctx
    const audits = db.selectFrom('auditLog').selectAll().where('message', '=', `Replace device Lobby by ${fresh.mac}`)
    const audit = await audits.executeTakeFirstOrThrow()
    expect(audit).toMatchObject({
      siteId,
      before: { devices: [{ mac: old.mac, name: 'Lobby', site_id: siteId, ...place }, { mac: fresh.mac }] },
      after: { devices: [{ mac: old.mac }, { mac: fresh.mac, name: 'Lobby', site_id: siteId, ...place }] },
    })
    const events = await db.selectFrom('deviceEvent').selectAll().where('deviceId', 'in', [old.id, fresh.id]).execute()
    const recorded = events.filter(({ event }) => event.audit_id === audit.id)
    expect(recorded.map(({ deviceId, siteId, type, event }) => [deviceId, siteId, type, event.text])).toEqual(
      expect.arrayContaining([
        [old.id, siteId, 'AP_UNASSIGNED', `replaced by ${fresh.mac}`],
        [fresh.id, siteId, 'AP_ASSIGNED', `replaces ${old.mac}`],
      ]),
    )
    expect(recorded).toHaveLength(2)
  })

  it('omits discarded fields, and leaves the files of replaced images to the sweep', async () => {
    const [old, fresh] = [await claimed({ siteId }), await claimed({ siteId })]
    const put = ({ id }: MadeDevice, body: object) => server.call('PUT', `/sites/${siteId}/devices/${id}`, { body })
    await put(old, { name: 'Hall', role: 'access', map_id: await newMap(), x: 1, y: 2, vars: { a: 'b' } })
    await put(fresh, { name: 'Spare', role: 'mesh', led: { enabled: false } })
    for (const number of [1, 2]) await addImage(old, number)
    await addImage(fresh, 1)
    const images = () => server.ctx.db.selectFrom('deviceImage').selectAll().orderBy('name').execute()
    const names = (await images()).map(({ name }) => name)
    await server.call('PUT', path, { body: { op: 'unassign', macs: [fresh.mac] } })
    const discard = ['role', 'map_id', 'image2_url']
    expect((await replace({ mac: old.mac, inventory_mac: fresh.mac, discard })).status).toBe(200)
    const after = await document(fresh)
    expect(after).toMatchObject({ name: 'Hall', role: 'mesh', vars: { a: 'b' }, image1_url: expect.any(String) })
    for (const field of ['map_id', 'x', 'y', 'led', 'image2_url']) expect(after).not.toHaveProperty(field)
    const owners = (await images()).map(({ deviceId, number }) => [deviceId, number])
    expect(owners).toEqual(
      expect.arrayContaining([
        [fresh.id, 1],
        [old.id, 2],
      ]),
    )
    expect(await filterKnownDeviceImages(server.ctx.db, names)).toHaveLength(names.length - 1)
  })

  it.each<[string, (made: { old: MadeDevice; fresh: MadeDevice }) => Promise<object> | object, string]>([
    ['a missing mac', ({ fresh }) => ({ mac: undefined, inventory_mac: fresh.mac }), 'mac'],
    ['an invalid mac', () => ({ mac: 'xyz' }), 'mac'],
    ['an invalid inventory_mac', () => ({ inventory_mac: '' }), 'inventory_mac'],
    ['the device itself', ({ old }) => ({ inventory_mac: old.mac }), 'inventory_mac'],
    ['a device without a site', async () => ({ mac: (await claimed()).mac }), 'mac'],
    ['by a device with a site', async () => ({ inventory_mac: (await claimed({ siteId })).mac }), 'inventory_mac'],
    [
      'by a device of another type',
      async () => ({ inventory_mac: (await claimed({ model: 'EX2300', type: 'switch' })).mac }),
      'inventory_mac',
    ],
    ['another site', async () => ({ site_id: await addSite(server) }), 'site_id'],
    ['an invalid site id', () => ({ site_id: 'x' }), 'site_id'],
    ['without its site', () => ({ discard: ['site_id'] }), 'discard'],
    ['a discard that is not a list', () => ({ discard: 'name' }), 'discard'],
    ['ports of an edge appliance', () => ({ tunterm_port_config: {} }), 'tunterm_port_config'],
  ])('refuses %s and changes nothing', async (_what, change, field) => {
    const made = { old: await claimed({ siteId }), fresh: await claimed() }
    const body = { mac: made.old.mac, inventory_mac: made.fresh.mac, ...(await change(made)) }
    const before = await snapshot()
    const answer = await replace(body)
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining(`Invalid field ${field}: `) } })
    expect(await snapshot()).toEqual(before)
  })

  it('does not find devices that are unclaimed or belong to another organization', async () => {
    const [old, fresh] = [await claimed({ siteId }), await claimed()]
    const [unclaimed, theirs] = await makeDevices(server.ctx, 2)
    const other = await server.addOrg()
    await server.call('POST', `/orgs/${other.orgId}/inventory`, { as: other, body: [theirs?.claim_code] })
    for (const mac of [unclaimed?.mac, theirs?.mac]) {
      const missing = { status: 404, body: { detail: 'Not found.', id: mac } }
      expect(await replace({ mac, inventory_mac: fresh.mac })).toMatchObject(missing)
      expect(await replace({ mac: old.mac, inventory_mac: mac })).toMatchObject(missing)
    }
  })

  it('happens once if two requests are concurrent', async () => {
    const old = await claimed({ siteId })
    const fresh = await claimNewDevices(server, 2)
    const answers = await Promise.all(fresh.map(({ mac }) => replace({ mac: old.mac, inventory_mac: mac })))
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 400])
    const sites = await Promise.all(fresh.map(async (device) => (await inventory(device)).site_id))
    expect(sites.filter((site) => site === siteId)).toHaveLength(1)
  })

  it('places no device on a map that is concurrently deleted', async () => {
    for (let round = 0; round < 5; round += 1) {
      const [old, fresh] = [await claimed({ siteId }), await claimed()]
      const mapId = await newMap()
      await server.call('PUT', `/sites/${siteId}/devices/${old.id}`, { body: { map_id: mapId, x: 1, y: 1 } })
      const answers = await Promise.all([
        server.call('DELETE', `/sites/${siteId}/maps/${mapId}`),
        replace({ mac: old.mac, inventory_mac: fresh.mac }),
      ])
      for (const { status } of answers) expect(status).toBeLessThan(500)
      expect((await server.call('GET', `/sites/${siteId}/maps/${mapId}`)).status).toBe(404)
      expect(await document(fresh)).not.toHaveProperty('map_id')
    }
  })
})

describe('installers', () => {
  it('replace devices that they may access', async () => {
    const installer = await addPerson(server, [{ scope: 'org', role: 'installer' }])
    const put = ({ mac }: MadeDevice, body: object) =>
      server.call('PUT', `/installer/orgs/${server.org.orgId}/devices/${mac}`, { as: installer, body })
    const here = await addSite(server, `Here ${randomUUID()}`)
    const [old, fresh] = [await claimed({ siteId: here }), await claimed()]
    await server.call('PUT', `/sites/${here}/devices/${old.id}`, { body: { name: 'Lobby', role: 'a', notes: 'n' } })
    const refused = (field: string) => ({
      status: 400,
      body: { detail: expect.stringContaining(`Invalid field ${field}: `) },
    })
    expect(await put(fresh, { name: 'New', replacing_mac: 'x' })).toMatchObject(refused('replacing_mac'))
    expect(await put(fresh, { name: 'New', replacing_mac: fresh.mac })).toMatchObject(refused('replacing_mac'))
    const elsewhere = { name: 'New', replacing_mac: old.mac, site_id: siteId }
    expect(await put(fresh, elsewhere)).toMatchObject(refused('replacing_mac'))
    expect(await put(fresh, { name: 'New', replacing_mac: old.mac, role: 'b' })).toMatchObject({ status: 200 })
    expect(await document(fresh, here)).toMatchObject({ name: 'New', role: 'b', notes: 'n' })
    expect(await inventory(old)).not.toHaveProperty('site_id')
  })

  it('neither replace inaccessible devices nor learn where they are', async () => {
    const elsewhere = await addSite(server, 'Elsewhere')
    const local = await addPerson(server, [{ scope: 'site', role: 'installer', site_id: siteId }])
    const [old, fresh] = [await claimed({ siteId: elsewhere }), await claimed()]
    const body = { name: 'New', replacing_mac: old.mac }
    const devices = `/installer/orgs/${server.org.orgId}/devices`
    const answer = await server.call('PUT', `${devices}/${fresh.mac}`, { as: local, body })
    expect(answer).toMatchObject({ status: 404, body: { detail: 'Not found.', id: old.mac } })
    expect(await inventory(old)).toMatchObject({ site_id: elsewhere })
    // It belongs to an accessible site, but was claimed long ago.
    clock.advance(8 * 86_400_000)
    const installer = await addPerson(server, [{ scope: 'org', role: 'installer' }])
    const young = await claimed()
    expect(await server.call('PUT', `${devices}/${young.mac}`, { as: installer, body })).toMatchObject({ status: 404 })
  })
})
