import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { recordEnds } from '../../../support/fleets/record.ts'
import { claimNewDevice, connectDevice, makeDevices } from '../../../support/fleets/devices.ts'
import { type Answer, type TestServer, startTestServer } from '../../../support/servers/server.ts'

let server: TestServer
let path: string
beforeAll(async () => {
  server = await startTestServer()
  path = `/orgs/${server.org.orgId}/inventory`
})
afterAll(() => server.close())

const list = (query: string): Promise<Answer> => server.call('GET', `${path}?${query}`)

describe('list', () => {
  it('filters, and treats empty values and zero as no filter', async () => {
    const device = await claimNewDevice(server, { model: 'EX4100-48P' })
    const { mac, serial } = device
    const all =
      'serial=&model=&type=&mac=&vc_mac=&vc=True&unassigned=False&modified_after=0&disconnected_before=0&limit=1000'
    const everything = (await list(all)).body.map((item: { mac: string }) => item.mac)
    expect(everything).toContain(mac)
    for (const query of [
      `serial=${serial}`,
      `mac=${mac.toUpperCase()}`,
      'model=EX4100-48P',
      'type=switch',
      `mac=${mac}&unassigned=True`,
      `mac=${mac}&modified_after=1`,
    ]) {
      expect((await list(query)).body, query).toMatchObject([
        { mac, serial, model: 'EX4100-48P', type: 'switch', connected: false },
      ])
    }
    for (const query of [
      `mac=${mac}&type=ap`,
      `mac=${mac}&site_id=${randomUUID()}`,
      `mac=${mac}&modified_after=4000000000`,
    ])
      expect((await list(query)).body, query).toEqual([])
  })

  it('marks SSR routers among the gateways, and lists them alone', async () => {
    const [router, gateway, ap] = [
      await claimNewDevice(server, { model: 'SSR120' }),
      await claimNewDevice(server, { model: 'SRX320' }),
      await claimNewDevice(server),
    ]
    const macs = [router, gateway, ap].map(({ mac }) => mac)
    const listed = async (query: string) => (await list(`mac=${macs.join()}&${query}`)).body
    expect(await listed('ssr=true')).toMatchObject([{ mac: router.mac, type: 'gateway', ssr: true }])
    const others = await listed('ssr=false')
    expect(others.map(({ mac }: { mac: string }) => mac).toSorted()).toEqual([gateway.mac, ap.mac].toSorted())
    for (const other of others) expect(other).not.toHaveProperty('ssr')
    expect(await listed('ssr=true,false')).toHaveLength(3)
    expect((await list('ssr=maybe')).body.detail).toContain('Invalid field ssr')
  })

  it('lists the members of a Virtual Chassis on request', async () => {
    const device = await claimNewDevice(server, { model: 'EX4400-24P' })
    const mac = device.mac
    const member = { member: 1, mac: '0200000000aa', serial: 'MEMBER1', model: 'EX4400-24P', firmware: '1' }
    // Junos reports no MAC of some members.
    const unnamed = { ...member, member: 2, mac: '', serial: 'MEMBER2' }
    const members = [{ ...member, member: 0, mac, serial: device.serial }, member, unnamed]
    const session = await connectDevice(server.ctx, mac, { type: 'switch', model: 'EX4400-24P', members })
    expect((await list('model=EX4400-24P')).body).toMatchObject([{ mac, vc_mac: mac, connected: true }])
    const withMembers = await list('model=EX4400-24P&vc=true')
    expect(withMembers.body.map((item: { mac: string }) => item.mac).sort()).toEqual([mac, member.mac].sort())
    expect((await list(`vc_mac=${mac}`)).body).toHaveLength(2)
    const [hit] = (await server.call('GET', `${path}/search?type=switch&mac=${mac}`)).body.results
    expect(hit.members).toContainEqual({ serial: 'MEMBER2', model: 'EX4400-24P' })
    await recordEnds(server.ctx, [session])
    const nextHour = Math.ceil(Date.now() / 1000) + 3600
    expect((await list(`mac=${mac}&disconnected_before=${nextHour}`)).body).toMatchObject([
      { connected: false, last_disconnected: expect.any(Number) },
    ])
    expect((await list(`mac=${mac}&disconnected_before=1`)).body).toEqual([])
  })

  it('has pages with headers, including the last one', async () => {
    const other = await server.addOrg()
    const devices = await makeDevices(server.ctx, 3)
    const theirs = `/orgs/${other.orgId}/inventory`
    await server.call('POST', theirs, { as: other, body: devices.map(({ claim_code }) => claim_code) })
    const pages = await Promise.all(
      [1, 2, 3].map((page) => server.call('GET', `${theirs}?limit=2&page=${page}`, { as: other })),
    )
    expect(pages.map(({ body }) => body.length)).toEqual([2, 1, 0])
    for (const { headers } of pages) expect(headers.get('x-page-total')).toBe('3')
    expect(pages[1]?.headers.get('x-page-limit')).toBe('2')
    expect(pages[1]?.headers.get('x-page-page')).toBe('2')
    expect(pages.flatMap(({ body }) => body.map((item: { mac: string }) => item.mac))).toEqual(
      devices.map(({ mac }) => mac),
    )
  })

  it.each([
    'limit=-1',
    'page=x',
    'type=toaster',
    'mac=zz',
    'site_id=7',
    'vc=perhaps',
    'modified_after=soon',
    'serial=%00',
  ])('refuses %s', async (query) => {
    expect(await list(query)).toMatchObject({ status: 400, body: { detail: expect.any(String) } })
  })

  it('is not found by other organizations', async () => {
    const other = await server.addOrg()
    for (const [method, body] of [
      ['GET', undefined],
      ['POST', ['A']],
      ['PUT', { op: 'delete', macs: ['aabbccddeeff'] }],
    ] as const)
      expect((await server.call(method, path, { as: other, body })).status).toBe(404)
    expect((await server.call('GET', path, { as: null })).status).toBe(401)
    expect((await server.call('GET', '/orgs/nope/inventory')).status).toBe(404)
  })
})
