import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { DeviceCapabilities } from '../../../src/devices/tables.ts'
import { type Fleet, type Reply, type SeededDevice, type SeededOrg } from '../../support/fleets/fleet.ts'
import { type TestOrg, type TestServer, startTestServer } from '../../support/servers/server.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { addFleet, advanceAll } from './served-fleet.ts'

const able: DeviceCapabilities = {
  commands: ['restart', 'upgrade', 'snapshot'],
  restart_members: [],
  restart_nodes: [],
}
const SWITCH = 'SW24'
const cannot = "The device can't take a recovery snapshot"

let clock: TestClock
let server: TestServer
let admin: TestOrg
let org: SeededOrg
let fleet: Fleet
beforeAll(async () => {
  clock = createTestClock()
  server = await startTestServer(clock)
})
afterAll(() => server.close())
beforeEach(async () => {
  const seeds = [
    { devices: 1, model: SWITCH, type: 'switch', capabilities: able },
    { devices: 1, name: 'Stock' },
  ] as const
  ;({ admin, org, fleet } = await addFleet(server, seeds))
})

const call = (method: 'GET' | 'POST', path: string, body?: unknown) => server.call(method, path, { body, as: admin })
const device = (site: number): SeededDevice => {
  const [only] = org.sites[site]?.devices ?? []
  if (only === undefined) throw new Error('no device')
  return only
}
const sitePath = (site: number, rest = ''): string => `/sites/${org.sites[site]?.id}/devices${rest}`
const connect = () => fleet.connect([device(0), device(1)])

async function advance(): Promise<void> {
  clock.advance(1000)
  await advanceAll(server)
}

/** Upgrades the switch until its snapshot has been requested; returns the path of the upgrade. */
async function upgradeSwitch(): Promise<string> {
  await connect()
  const { body } = await call('POST', sitePath(0, '/upgrade'), { snapshot: true, reboot: true })
  for (const reply of ['upgrades', null] as const) {
    await advance()
    if (reply !== null) await fleet.answer(() => reply)
  }
  return sitePath(0, `/upgrade/${body.upgrade_id}`)
}

const commands = () =>
  server.ctx.db
    .selectFrom('deviceCommand')
    .select(['kind', 'state', 'params'])
    .where('orgId', '=', admin.orgId)
    .orderBy('id')
    .execute()
const eventTypes = async () => {
  const query = server.ctx.db.selectFrom('deviceEvent').select('type').where('orgId', '=', admin.orgId).orderBy('id')
  return (await query.execute()).map(({ type }) => type).filter((type) => /UPGRADE|SNAPSHOT/.test(type))
}

describe('an upgrade with a snapshot', () => {
  test('is planned for every device: those without a snapshot are noted, not skipped', async () => {
    await connect()
    const body = { all_sites: true, snapshot: true, dry_run: true }
    const { body: plan } = await call('POST', `/orgs/${admin.orgId}/devices/upgrade`, body)
    expect(plan).toMatchObject({ total: 2, skipped: [] })
    expect(plan.notes).toContainEqual({
      site_id: org.sites[1]?.id,
      mac: device(1).mac,
      reason: `no recovery snapshot: ${cannot}`,
    })
  })

  test('requests it of the verified device, which counts as upgraded meanwhile, and ends with it', async () => {
    const path = await upgradeSwitch()
    expect(await commands()).toEqual([
      expect.objectContaining({ kind: 'upgrade', state: 'done' }),
      { kind: 'snapshot', state: 'queued', params: {} },
    ])
    expect((await call('GET', path)).body).toMatchObject({
      status: 'upgrading',
      targets: { upgraded: [device(0).mac], total: 1 },
      notes: [],
    })
    const stats = await call('GET', `/sites/${org.sites[0]?.id}/stats/devices/${device(0).id}`)
    expect(stats.body.fwupdate).toMatchObject({ progress: 100, status: 'success' })
    const restarted = await call('POST', sitePath(0, `/${device(0).id}/restart`), {})
    expect(restarted).toMatchObject({ status: 400, body: { upgrade_id: expect.any(String) } })
    await fleet.answer(() => 'does')
    await advance()
    expect((await call('GET', path)).body).toMatchObject({ status: 'completed', notes: [] })
    const listed = (await call('GET', sitePath(0, `/${device(0).id}/commands`))).body
    const upgrade_id = path.split('/').at(-1)
    const times = { created_time: expect.any(Number), sent_time: expect.any(Number), finished_time: expect.any(Number) }
    expect(listed).toMatchObject([
      { kind: 'snapshot', status: 'done', upgrade_id, ...times },
      { kind: 'upgrade', status: 'done', upgrade_id, ...times },
    ])
    expect(await eventTypes()).toEqual([
      'SW_UPGRADE_BY_USER',
      'SW_UPGRADED',
      'SW_RECOVERY_SNAPSHOT_REQUESTED',
      'SW_RECOVERY_SNAPSHOT_SUCCEEDED',
    ])
  })

  test.each<[string, Reply, string]>([
    ['refuses it', 'refuses', 'Download failed'],
    ['loses its connection with it', 'loses_early', 'connection_lost'],
  ])('leaves a device upgraded that %s, and asks no second time', async (_, reply, reason) => {
    const path = await upgradeSwitch()
    await fleet.answer(() => reply)
    await fleet.connect([device(0)], '2.0.0')
    for (let round = 0; round < 3; round += 1) await advance()
    expect((await call('GET', path)).body).toMatchObject({
      status: 'completed',
      targets: { upgraded: [device(0).mac], failed: [] },
      notes: [{ mac: device(0).mac, reason: `no recovery snapshot: ${reason}` }],
    })
    expect((await commands()).map(({ kind }) => kind)).toEqual(['upgrade', 'snapshot'])
    expect(await eventTypes()).toContain('SW_RECOVERY_SNAPSHOT_FAILED')
  })

  test('asks no second time when the gateway dies with it', async () => {
    const path = await upgradeSwitch()
    await fleet.answer(() => 'silent')
    await fleet.markSessionsLost()
    await fleet.connect([device(0)], '2.0.0', 'socket')
    for (let round = 0; round < 3; round += 1) await advance()
    expect((await call('GET', path)).body).toMatchObject({
      status: 'completed',
      notes: [{ mac: device(0).mac, reason: 'no recovery snapshot: gateway_lost' }],
    })
    expect((await commands()).map(({ kind, state }) => [kind, state])).toEqual([
      ['upgrade', 'done'],
      ['snapshot', 'unknown'],
    ])
  })

  test('that is cancelled withdraws a request that has not gone out', async () => {
    const path = await upgradeSwitch()
    expect((await call('POST', `${path}/cancel`)).status).toBe(200)
    for (let round = 0; round < 2; round += 1) await advance()
    expect((await call('GET', path)).body).toMatchObject({
      status: 'completed',
      targets: { upgraded: [device(0).mac] },
      notes: [{ mac: device(0).mac, reason: 'no recovery snapshot: cancelled' }],
    })
    expect((await commands()).map(({ state }) => state)).toEqual(['done', 'cancelled'])
    expect((await eventTypes()).at(-1)).toBe('SW_RECOVERY_SNAPSHOT_FAILED')
  })
})

describe('devices that take no snapshot', () => {
  const reason = (count: number): string =>
    `is true, but none of the ${count} devices can take a recovery snapshot, for example ${device(1).mac} (AP45): ${cannot}`

  test('are refused where no device can', async () => {
    await connect()
    const upgrade = { version: '2.0.0', snapshot: true, reboot: true }
    for (const path of [sitePath(1, '/upgrade'), sitePath(1, `/${device(1).id}/upgrade`)])
      expect(await call('POST', path, upgrade)).toMatchObject({
        status: 400,
        body: { detail: `Invalid field snapshot: ${reason(1)}` },
      })
    const whole = { site_ids: [org.sites[1]?.id], version: '2.0.0', snapshot: true }
    expect((await call('POST', `/orgs/${admin.orgId}/devices/upgrade`, whole)).status).toBe(400)
    expect(await commands()).toEqual([])
  })

  test('are upgraded beside those that do, with a note', async () => {
    await connect()
    const body = { all_sites: true, snapshot: true }
    const { status, body: made } = await call('POST', `/orgs/${admin.orgId}/devices/upgrade`, body)
    expect(status).toBe(200)
    for (const reply of ['upgrades', 'does'] as const) {
      await advance()
      await fleet.answer(() => reply)
      await advance()
    }
    await advance()
    const read = await call('GET', `/orgs/${admin.orgId}/devices/upgrade/${made.id}`)
    const upgrades = read.body.upgrades.map(({ upgrade }: { upgrade: unknown }) => upgrade)
    expect(upgrades).toMatchObject([
      { status: 'completed', targets: { upgraded: [device(0).mac] }, notes: [] },
      {
        status: 'completed',
        targets: { upgraded: [device(1).mac] },
        notes: [{ mac: device(1).mac, reason: `no recovery snapshot: ${cannot}` }],
      },
    ])
    expect((await commands()).map(({ kind }) => kind).toSorted()).toEqual(['snapshot', 'upgrade', 'upgrade'])
  })

  test('are accepted before they have connected, and noted when they turn out to take none', async () => {
    const { body } = await call('POST', sitePath(1, '/upgrade'), { snapshot: true })
    await connect()
    await advance()
    await fleet.answer()
    await advance()
    await advance()
    expect((await call('GET', sitePath(1, `/upgrade/${body.upgrade_id}`))).body).toMatchObject({
      status: 'completed',
      notes: [{ mac: device(1).mac, reason: 'no recovery snapshot: not_supported' }],
    })
  })
})
