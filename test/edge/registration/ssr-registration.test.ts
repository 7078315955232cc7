import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { deviceIdOf } from '../../../src/devices/device.ts'
import { findUnclaimed } from '../../../src/devices/registry/store.ts'
import { claimNewDevices, makeDevices } from '../../support/fleets/devices.ts'
import { type TestOrg, type TestServer, startTestServer } from '../../support/servers/server.ts'
import { codeOf, inventoryOf, newRouterMac, registerRouter, tryToRegisterRouter } from '../routers.ts'
import { newKey } from '../world.ts'

let server: TestServer
let nowMs = Date.now()
beforeAll(async () => {
  server = await startTestServer({ now: () => new Date(nowMs) })
})
afterAll(() => server.close())
beforeEach(() => {
  // The tries of the tests before no longer count.
  nowMs += 120_000
})

const refused = (reason: string) => ({ status: 400, body: { reason: expect.stringContaining(reason) } })

describe('the registration command of SSR routers', () => {
  test('contains the code, the address of the service and the role', async () => {
    const { status, body } = await server.call('GET', `/orgs/${server.org.orgId}/ssr/register_cmd`)
    expect(status).toBe(200)
    expect(body.router_shell_cmd).toContain(`SIGNALBOX_AGENT_CODE=${body.registration_code} `)
    expect(body.router_shell_cmd).toContain(`--role ssr`)
    expect(body.router_shell_cmd).toContain(`--url ${server.url} `)
    expect(body.registration_code).toMatch(/^[A-Za-z0-9_.-]+$/)
    const older = await server.call('GET', `/orgs/${server.org.orgId}/128routers/register_cmd`)
    expect(Object.keys(older.body)).toEqual(Object.keys(body))
  })

  test('has a code that expires after its ttl', async () => {
    const code = await codeOf(server, server.org, '?ttl=60')
    nowMs += 59_000
    expect(await tryToRegisterRouter(server, { code, mac: newRouterMac() })).toMatchObject({ status: 200 })
    nowMs += 2000
    expect(await tryToRegisterRouter(server, { code, mac: newRouterMac() })).toMatchObject(refused('it has expired'))
  })

  test('has a code for the routers that asset_ids names', async () => {
    const code = await codeOf(server, server.org, '?asset_ids=R-1,R-2')
    const claim = (serial: string) => tryToRegisterRouter(server, { code, mac: newRouterMac(), serial })
    expect(await claim('R-2')).toMatchObject({ status: 200 })
    expect(await claim('R-3')).toMatchObject(refused('the code is not for the router R-3'))
  })

  test.each(['ttl=0', 'ttl=31622401', 'ttl=soon', `asset_ids=${'x'.repeat(65)}`, `asset_ids=${manyIds()}`])(
    'is refused with %s',
    async (query) => {
      const { status, body } = await server.call('GET', `/orgs/${server.org.orgId}/ssr/register_cmd?${query}`)
      expect([status, body.detail]).toEqual([400, expect.stringContaining(query.slice(0, query.indexOf('=')))])
    },
  )
})

function one<T>([first]: readonly T[]): T {
  if (first === undefined) throw new Error('no device')
  return first
}

function manyIds(): string {
  return Array.from({ length: 51 }, (_, index) => `R${index}`).join(',')
}

describe('a router that registers', () => {
  test('gets a certificate for its own key, and becomes a device of the organization of the code', async () => {
    const mac = newRouterMac()
    const key = newKey()
    const { certificate: pem, deviceId } = await registerRouter(server, { mac, key })
    const certificate = new X509Certificate(pem)
    expect(certificate.subject).toBe(`CN=ssr-${mac}`)
    expect(certificate.checkPrivateKey(key)).toBe(true)
    expect(deviceId).toBe(deviceIdOf(mac))
    expect(await inventoryOf(server, mac)).toMatchObject({ mac, type: 'gateway', model: 'SSR120', serial: `S${mac}` })
    const audits = await server.ctx.db
      .selectFrom('auditLog')
      .select('message')
      .where('orgId', '=', server.org.orgId)
      .orderBy('id')
      .execute()
    expect(audits.map(({ message }) => message)).toEqual(
      expect.arrayContaining([`Claim device ${mac}`, `Router ${mac} registered`]),
    )
  })

  test('may ask again with the same key, because the answer may be lost, but not with another one', async () => {
    const mac = newRouterMac()
    const key = newKey()
    await registerRouter(server, { mac, key })
    expect((await registerRouter(server, { mac, key })).mac).toBe(mac)
    const code = await codeOf(server)
    expect(await tryToRegisterRouter(server, { code, mac })).toMatchObject(refused('registered with another key'))
  })

  test('wins alone when several agents name the same MAC at once', async () => {
    const code = await codeOf(server)
    const mac = newRouterMac()
    const answers = await Promise.all(Array.from({ length: 4 }, () => tryToRegisterRouter(server, { code, mac })))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400, 400])
  })

  test('gets its key where the organization has claimed it before', async () => {
    const device = one(await claimNewDevices(server, 1, { model: 'SSR130' }))
    const { deviceId } = await registerRouter(server, { mac: device.mac })
    expect(deviceId).toBe(device.id)
    expect(await inventoryOf(server, device.mac)).toMatchObject({ model: 'SSR130', serial: device.serial })
  })

  test('registers anew once the organization has given it up and claimed it again', async () => {
    const { mac, deviceId } = await registerRouter(server)
    const path = `/orgs/${server.org.orgId}/inventory`
    expect(await server.call('PUT', path, { body: { op: 'delete', macs: [mac] } })).toMatchObject({ status: 200 })
    const code = await codeOf(server)
    expect(await tryToRegisterRouter(server, { code, mac })).toMatchObject(refused('claim it first'))
    const renewed = await findUnclaimed(server.ctx.db, mac)
    const claimed = await server.call('POST', path, { body: [renewed?.claimCode] })
    expect(claimed.body.inventory_added).toMatchObject([{ mac, serial: `S${mac}` }])
    expect(await inventoryOf(server, mac)).toMatchObject({ id: deviceId })
    expect(await tryToRegisterRouter(server, { code, mac })).toMatchObject({ status: 200 })
  })
})

function callAs(as: TestOrg): TestServer['call'] {
  return (method, path, options) => server.call(method, path, { as, ...options })
}

describe('the holder of a code', () => {
  test('takes over no device of another organization, and none that nobody has claimed', async () => {
    const other = await server.addOrg()
    const { mac } = await registerRouter(server, { as: other })
    const unclaimed = one(await makeDevices(server.ctx, 1, { model: 'SSR120' }))
    const code = await codeOf(server)
    const known = refused('is known already, and not in the inventory of this organization: claim it first')
    expect(await tryToRegisterRouter(server, { code, mac })).toMatchObject(known)
    expect(await tryToRegisterRouter(server, { code, mac: unclaimed.mac })).toMatchObject(known)
    expect(await inventoryOf(server, mac, other)).toMatchObject({ mac })
    expect(await inventoryOf(server, mac)).toBeUndefined()
    expect(await inventoryOf(server, unclaimed.mac)).toBeUndefined()
  })

  test('takes over no other device of the organization', async () => {
    const ap = one(await claimNewDevices(server, 1, { model: 'AP45' }))
    const code = await codeOf(server)
    const claim = { code, mac: ap.mac, model: 'SSR120' }
    expect(await tryToRegisterRouter(server, claim)).toMatchObject(
      refused(`${ap.mac} has the model AP45, which is no SSR router`),
    )
  })

  test.each([
    ['code', { code: 'nonsense' }, 'it has expired, or was not made here'],
    ['code', { code: 'a.b.c' }, 'it has expired, or was not made here'],
    ['mac', { mac: 'xyz' }, '"xyz" is not a MAC address'],
    ['model', { model: 'SRX300' }, 'SRX300 is not a model of SSR routers'],
  ])('is refused a wrong %s', async (field, changes, reason) => {
    const claim = { code: await codeOf(server), mac: newRouterMac(), ...changes }
    const answer = await tryToRegisterRouter(server, claim)
    expect(answer).toMatchObject(refused(reason))
    expect(answer.body.detail).toContain(`Invalid field ${field}`)
  })

  test('cannot change the organization in the code', async () => {
    const other = await server.addOrg()
    const [text = '', signature = ''] = (await codeOf(server)).split('.')
    const grant = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    const changed = Buffer.from(JSON.stringify({ ...grant, o: other.orgId })).toString('base64url')
    const claim = { code: `${changed}.${signature}`, mac: newRouterMac() }
    expect(await tryToRegisterRouter(server, claim)).toMatchObject(refused('was not made here'))
  })

  test('cannot fill the inventory', async () => {
    const org = await server.addOrg()
    const routers = await claimNewDevices({ ...server, org, call: callAs(org) }, 1000, { model: 'SSR120' })
    const registeredAt = new Date()
    const keys = routers.map(({ id, mac }) => ({ orgId: org.orgId, deviceId: id, keySha256: mac, registeredAt }))
    await server.ctx.db.insertInto('routerKey').values(keys).execute()
    const code = await codeOf(server, org)
    const answer = await tryToRegisterRouter(server, { code, mac: newRouterMac() })
    expect(answer).toMatchObject(refused('1000 routers have registered that are in no site'))
  })
})
