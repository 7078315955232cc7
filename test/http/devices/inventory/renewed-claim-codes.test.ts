import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { importManifest } from '../../../../src/devices/registry/import-manifest.ts'
import { newKey, register, tryToRegister } from '../../../edge/world.ts'
import { inventoryOf, registerRouter } from '../../../edge/routers.ts'
import { untilWaiting } from '../../../support/database/until-waiting.ts'
import { giveToUpgrade } from '../../../support/fleets/device-upgrades.ts'
import { claimNewDevice, connectDevice } from '../../../support/fleets/devices.ts'
import { addMxedge, makeMxedge } from '../../../support/fleets/mxedges.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from '../../../support/servers/server.ts'

let server: TestServer
let other: TestOrg
beforeAll(async () => {
  server = await startTestServer()
  other = await server.addOrg('Next owner')
})
afterAll(() => server.close())

const newMac = () => randomBytes(6).toString('hex')
const pathOf = ({ orgId }: TestOrg) => `/orgs/${orgId}/inventory`
const claim = (code: string, as = server.org): Promise<Answer> => server.call('POST', pathOf(as), { as, body: [code] })
const release = (body: object): Promise<Answer> =>
  server.call('PUT', pathOf(server.org), { body: { op: 'delete', ...body } })

/** Returns the claim code as the operator reads it. */
async function codeOf(mac: string, list = 'unclaimed'): Promise<string> {
  const answer = await fetch(`${server.url}/operator/v1/${list}/${mac}`, {
    headers: { authorization: 'Operator operator-key' },
  })
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
  return ((await answer.json()) as { claim_code: string }).claim_code
}

describe.each(['ap', 'switch', 'gateway'] as const)('the generated claim code of a device of the type %s', (type) => {
  it.each(['macs', 'serials'] as const)('is renewed when the device is released by %s', async (names) => {
    const mac = newMac()
    await connectDevice(server.ctx, mac, { type })
    const former = await codeOf(mac)
    expect((await claim(former)).body).toMatchObject({ added: [former] })
    // The serial of a device that reports none is its MAC.
    expect(await release({ [names]: [mac] })).toMatchObject({ status: 200, body: { success: [mac] } })

    expect((await claim(former)).body).toMatchObject({ added: [], error: [former], reason: ['not found'] })
    const renewed = await codeOf(mac)
    expect(renewed).toMatch(/^[A-HJKMNP-Z2-9]{15}$/)
    expect(renewed).not.toBe(former)
    // The device has not changed, so its next connection leaves the code as it is.
    await connectDevice(server.ctx, mac, { type })
    expect((await claim(renewed, other)).body).toMatchObject({ added: [renewed] })
    expect(await inventoryOf(server, mac, other)).toMatchObject({ mac, magic: renewed })

    const records = JSON.stringify(await server.ctx.db.selectFrom('auditLog').select(['before', 'after']).execute())
    for (const code of [former, renewed]) expect(records).not.toContain(code)
  })
})

it('the generated claim code of an SSR router that has registered is renewed when it is released', async () => {
  const { mac } = await registerRouter(server)
  const { magic: former } = await inventoryOf(server, mac)
  expect(await release({ macs: [mac] })).toMatchObject({ status: 200 })
  expect((await claim(former)).body).toMatchObject({ error: [former] })
  const renewed = await codeOf(mac)
  expect(renewed).not.toBe(former)
  expect((await claim(renewed, other)).body).toMatchObject({ added: [renewed] })
})

it('each release renews the code, and a release that is refused does not', async () => {
  const [mac, busy] = [newMac(), newMac()]
  for (const each of [mac, busy]) {
    await connectDevice(server.ctx, each)
    await claim(await codeOf(each))
  }
  const { id, magic } = await inventoryOf(server, busy)
  await giveToUpgrade(server.ctx.db, id)
  expect(await release({ macs: [busy, mac] })).toMatchObject({ body: { success: [mac], error: [busy] } })
  const registered = server.ctx.db.selectFrom('deviceRegistry').select(['claimCode', 'orgId'])
  expect(await registered.where('mac', '=', busy).execute()).toEqual([{ claimCode: magic, orgId: server.org.orgId }])
  const second = await codeOf(mac)
  await claim(second)
  await release({ macs: [mac] })
  expect(await codeOf(mac)).not.toBe(second)
})

it('is renewed also if the device is claimed while its release waits for another device', async () => {
  const [busy, mac] = [newMac(), newMac()]
  for (const each of [busy, mac]) await connectDevice(server.ctx, each)
  await claim(await codeOf(busy))
  const code = await codeOf(mac)
  const { releasing } = await server.ctx.db.transaction().execute(async (tx) => {
    await tx.selectFrom('deviceRegistry').select('id').where('mac', '=', busy).forUpdate().execute()
    const releasing = release({ macs: [busy, mac] })
    await untilWaiting(server, 1)
    expect((await claim(code)).body).toMatchObject({ added: [code] })
    return { releasing }
  })
  expect(await releasing).toMatchObject({ body: { success: [busy, mac] } })
  expect(await codeOf(mac)).not.toBe(code)
})

describe('the claim code of a manifest', () => {
  it('stays, because it is printed on the device, also beside devices with generated ones', async () => {
    const printed = await claimNewDevice(server)
    const mac = newMac()
    await connectDevice(server.ctx, mac)
    const generated = await codeOf(mac)
    await claim(generated)
    await release({ macs: [printed.mac, mac] })
    expect(await codeOf(printed.mac)).toBe(printed.claim_code)
    expect(await codeOf(mac)).not.toBe(generated)
  })

  it('replaces the generated one of a released device, and stays from then on', async () => {
    const mac = newMac()
    await connectDevice(server.ctx, mac)
    await claim(await codeOf(mac))
    await release({ macs: [mac] })
    const row = { mac, serial: `S${mac}`, model: 'AP45', claim_code: `PRT${mac.toUpperCase()}` }
    expect(await importManifest(server.ctx, [row])).toMatchObject({ imported: 1, conflicts: [] })
    expect(await codeOf(mac)).toBe(row.claim_code)
    expect((await claim(row.claim_code)).body).toMatchObject({ added: [row.claim_code] })
    await release({ macs: [mac] })
    expect(await codeOf(mac)).toBe(row.claim_code)
  })

  it('is a printed one even if the service has generated it, and a manifest says so while the device is claimed', async () => {
    const mac = newMac()
    await connectDevice(server.ctx, mac, { serial: `S${mac}` })
    const code = await codeOf(mac)
    await claim(code)
    const row = { mac, serial: `S${mac}`, model: 'AP45', claim_code: code }
    expect(await importManifest(server.ctx, [row])).toEqual({ imported: 0, unchanged: 1, conflicts: [] })
    await release({ macs: [mac] })
    expect(await codeOf(mac)).toBe(code)
  })
})

describe('the generated code of an edge appliance', () => {
  const path = () => `/orgs/${server.org.orgId}/mxedges`

  it('ends with the appliance', async () => {
    const { id, magic } = await addMxedge(server)
    expect(await server.call('DELETE', `${path()}/${id}`)).toMatchObject({ status: 200 })
    expect((await tryToRegister(server, magic, newKey())).status).toBe(400)
    expect((await claim(magic)).body).toMatchObject({ error: [magic] })
  })

  it('that a restart has given to hardware ends with its release; the printed one counts again', async () => {
    const { id, mac, claim_code: printed } = await makeMxedge(server.ctx)
    await claim(printed)
    await server.call('POST', `${path()}/${id}/restart`)
    const { magic } = (await server.call('GET', `${path()}/${id}`)).body
    expect(magic).not.toBe(printed)
    await release({ macs: [mac] })
    for (const as of [server.org, other]) expect((await claim(magic, as)).body).toMatchObject({ error: [magic] })
    expect((await tryToRegister(server, magic, newKey())).status).toBe(400)
    expect(await codeOf(mac, 'unclaimed-mxedges')).toBe(printed)
    expect((await claim(printed, other)).body).toMatchObject({ added: [printed] })
    expect(await register(server, printed)).toMatchObject({ mxedgeId: id })
  })
})

it('the operator reads the code of a single unclaimed device, in any spelling of its MAC', async () => {
  const mac = newMac()
  await connectDevice(server.ctx, mac)
  const spelt = mac.toUpperCase().replaceAll(/(..)(?=.)/g, '$1:')
  expect(await codeOf(spelt)).toBe(await codeOf(mac))
  await expect(codeOf(mac, 'unclaimed-mxedges')).rejects.toThrow(/^404 .*No unclaimed edge appliance has the MAC/)
  await expect(codeOf('nonsense')).rejects.toThrow(/^400 /)
  await claim(await codeOf(mac))
  await expect(codeOf(mac)).rejects.toThrow(/^404 .*No unclaimed device has the MAC/)
  expect((await fetch(`${server.url}/operator/v1/unclaimed/${mac}`)).status).toBe(401)
})
