import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { uuidv7 } from 'uuidv7'
import { type Fleet, MODEL, NEW, OLD, type SeededOrg } from '../../support/fleets/fleet.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from '../../support/servers/server.ts'
import { addFleet, advanceAll } from './served-fleet.ts'

let server: TestServer
let admin: TestOrg
let org: SeededOrg
let fleet: Fleet
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())
beforeEach(async () => {
  const seeds = [
    { devices: 3, name: 'Berlin' },
    { devices: 2, name: 'Tokyo', model: 'SW24', type: 'switch' },
  ] as const
  ;({ admin, org, fleet } = await addFleet(server, seeds))
  await fleet.connect(devices())
})

const devices = () => org.sites.flatMap((site) => site.devices)
const site = (index: number): string => `/sites/${org.sites[index]?.id}`
const device = (index: number, place = 0) => {
  const found = org.sites[index]?.devices[place]
  if (found === undefined) throw new Error('no such device')
  return found
}
const call = (method: 'GET' | 'POST', path: string, body?: unknown): Promise<Answer> =>
  server.call(method, path, { body, as: admin })
const upgrades = (index: number, suffix = ''): string => `${site(index)}/devices/upgrade${suffix}`

const advance = (): Promise<void> => advanceAll(server)

describe('an upgrade of a site', () => {
  it('takes the strategies of downloads and reboots, as an upgrade of the organization does', async () => {
    const separate = { strategy: 'serial', download_strategy: 'big_bang', reboot_strategy: 'canary' }
    const { body } = await call('POST', upgrades(0), { ...separate, version: NEW })
    expect((await call('GET', upgrades(0, `/${body.upgrade_id}`))).body.strategy).toBe('canary')
    const { body: refusal } = await call('POST', upgrades(0), { download_strategy: 'rrm', version: NEW })
    expect(refusal.detail).toContain('download_strategy')
  })

  it('is carried out, and read and listed with the state of its devices', async () => {
    const asked = { strategy: 'canary', canary_phases: [50, 100], max_failures: [1, 0], p2p_cluster_size: 10 }
    const { status, body } = await call('POST', upgrades(0), { ...asked, version: NEW })
    expect(status).toBe(200)
    expect(body).toEqual({ upgrade_id: expect.any(String) })
    const common = {
      id: body.upgrade_id,
      status: 'queued',
      strategy: 'canary',
      target_version: NEW,
      start_time: expect.any(Number),
      reboot_at: expect.any(Number),
      force: false,
      enable_p2p: false,
      current_phase: 1,
      max_failures: [1, 0],
    }
    const { body: detail } = await call('GET', upgrades(0, `/${body.upgrade_id}`))
    expect(detail).toMatchObject({ ...common, canary_phases: [50, 100], p2p_cluster_size: 10, notes: [] })
    expect(detail.targets).toMatchObject({ total: 3, upgraded: [] })
    expect(Object.keys(detail.upgrade_plan)).toEqual(['1', '2'])
    expect(detail.upgrade_plan['1']).toHaveLength(2)
    expect(Object.values(detail.upgrade_plan).flat()).toEqual(detail.targets.scheduled)
    const { body: list } = await call('GET', upgrades(0))
    expect(list).toMatchObject([{ ...common, upgrade_plan: detail.upgrade_plan }])
    expect(list[0].counts).toMatchObject({ scheduled: 3, upgraded: 0, total: 3 })

    for (let round = 0; round < 4; round += 1) {
      await advance()
      await fleet.answer()
    }
    await advance()
    expect((await call('GET', upgrades(0, `/${body.upgrade_id}`))).body).toMatchObject({ status: 'completed' })
    expect((await call('GET', upgrades(0, '?status=completed'))).body).toMatchObject([
      { id: body.upgrade_id, counts: { upgraded: 3, scheduled: 0 } },
    ])
    expect((await call('GET', upgrades(0, '?status=queued'))).body).toEqual([])
    expect((await call('GET', upgrades(1))).body).toEqual([])
  })

  it('is under each id that the list of the organization shows', async () => {
    await call('POST', `/orgs/${admin.orgId}/devices/upgrade`, { all_sites: true })
    const { body: list } = await call('GET', `/orgs/${admin.orgId}/devices/upgrade`)
    expect(list[0].site_upgrades).toHaveLength(2)
    for (const { site_id: siteId, upgrade_id: id } of list[0].site_upgrades)
      expect(await call('GET', `/sites/${siteId}/devices/upgrade/${id}`)).toMatchObject({ status: 200, body: { id } })
    const [first, second] = list[0].site_upgrades
    expect((await call('GET', `/sites/${first.site_id}/devices/upgrade/${second.upgrade_id}`)).status).toBe(404)
    expect((await call('GET', upgrades(0, `/${uuidv7()}`))).status).toBe(404)
  })

  it('upgrades the devices that device_ids names, and no others', async () => {
    const ids = [device(0, 1).id.toUpperCase(), device(0, 2).id]
    const { body } = await call('POST', upgrades(0), { device_ids: ids, version: NEW })
    const { body: detail } = await call('GET', upgrades(0, `/${body.upgrade_id}`))
    expect(detail.targets.scheduled.toSorted()).toEqual([device(0, 1).mac, device(0, 2).mac])
    expect(await call('POST', upgrades(0), { device_ids: ids, version: NEW })).toMatchObject({
      status: 400,
      body: { detail: 'Invalid field device_ids: every device is in another upgrade' },
    })
    // The record of one that selects its devices says why it has none.
    await call('POST', upgrades(0), { device_ids: [device(0).id], version: NEW })
    const { body: selecting } = await call('POST', upgrades(0), { models: [MODEL], version: NEW })
    const { body: record } = await call('GET', upgrades(0, `/${selecting.upgrade_id}`))
    expect(record).toMatchObject({ status: 'completed', targets: { total: 0 } })
    expect(new Set(record.notes)).toEqual(
      new Set([0, 1, 2].map((index) => ({ mac: device(0, index).mac, reason: expect.stringMatching(/^in upgrade /) }))),
    )
    const foreign = await call('POST', upgrades(0), { device_ids: [device(1).id] })
    expect(foreign).toMatchObject({ status: 400, body: { reason: `there is no device ${device(1).id} at this site` } })
  })

  it.each([
    [{ snapshot: true }, 'snapshot'],
    [{ p2p_parallelism: 0 }, 'p2p_parallelism'],
    [{ version: '9.9.9' }, 'version'],
    [{ models: ['SW24'] }, 'models.0'],
    [{ strategy: 'rrm', rrm_max_batch_percentage: 0 }, 'rrm_max_batch_percentage'],
    [{ reboot_at: 1 }, 'reboot_at'],
    [{ device_ids: ['x'] }, 'device_ids.0'],
  ])('refuses %o', async (body, field) => {
    const detail = expect.stringContaining(`Invalid field ${field}: `)
    expect(await call('POST', upgrades(0), body)).toMatchObject({ status: 400, body: { detail } })
    expect((await call('GET', upgrades(0))).body).toEqual([])
  })

  it('reboots no switch without being asked to', async () => {
    const reason = `is false, but must be true: 2 of the devices, for example ${device(1).mac} (SW24), reboot to install firmware`
    for (const body of [{ version: NEW }, { version: NEW, reboot: false }])
      expect(await call('POST', upgrades(1), body)).toMatchObject({ status: 400, body: { reason } })
    expect((await call('POST', upgrades(1), { version: NEW, reboot: true })).status).toBe(200)
    expect((await call('POST', upgrades(0), { version: NEW, reboot: false })).status).toBe(200)
  })
})

describe('cancelling an upgrade of a site', () => {
  const whole = async (id: string) =>
    (await call('GET', `/orgs/${admin.orgId}/devices/upgrade/${id}`)).body.upgrades.map(
      ({ upgrade }: { upgrade: { status: string } }) => upgrade.status,
    )

  it('stops the site, and the other sites of the same upgrade continue', async () => {
    const asked = { all_sites: true, strategy: 'canary', max_failures: [0, 0, 0, 0] }
    const { body } = await call('POST', `/orgs/${admin.orgId}/devices/upgrade`, asked)
    const [first] = body.upgrades
    const path = `/sites/${first.site_id}/devices/upgrade/${first.upgrade.id}/cancel`
    for (let again = 0; again < 2; again += 1) expect(await call('POST', path)).toMatchObject({ status: 200, body: {} })
    const logs = server.ctx.db.selectFrom('auditLog').select('siteId').where('orgId', '=', admin.orgId)
    expect(await logs.where('message', 'like', 'Cancel site upgrade%').execute()).toEqual([{ siteId: first.site_id }])
    for (let round = 0; round < 12; round += 1) {
      await advance()
      await fleet.answer()
    }
    expect(await whole(body.id)).toEqual(['cancelled', 'completed'])
    expect(fleet.flashes.size).toBe(2)
  })

  it('cancels the whole upgrade once no site is left', async () => {
    const { body } = await call('POST', upgrades(0), { version: NEW, strategy: 'canary' })
    expect((await call('POST', upgrades(0, `/${body.upgrade_id}/cancel`))).status).toBe(200)
    await advance()
    expect((await call('GET', upgrades(0, `/${body.upgrade_id}`))).body).toMatchObject({
      status: 'cancelled',
      stop_reason: expect.stringContaining('cancelled by '),
    })
    const held = server.ctx.db.selectFrom('orgUpgrade').select(['stopping', 'hold']).where('orgId', '=', admin.orgId)
    expect(await held.execute()).toEqual([{ stopping: 'cancelled', hold: null }])
    expect((await call('POST', upgrades(1, `/${body.upgrade_id}/cancel`))).status).toBe(404)
  })
})

describe('an upgrade of a device', () => {
  const upgrade = (index: number, body: unknown, place = 0): Promise<Answer> =>
    call('POST', `${site(index)}/devices/${device(index, place).id}/upgrade`, body)

  it('is answered with how far it is', async () => {
    const answer = (status: string) => ({ status, timestamp: expect.any(Number), upgrade_id: expect.any(String) })
    const sent = { version: NEW, reboot: false, snapshot: false }
    expect(await upgrade(0, sent)).toMatchObject({ status: 200, body: answer('starting') })
    const later = Math.floor(Date.now() / 1000) + 3600
    expect((await upgrade(0, { version: NEW, start_time: later }, 1)).body).toEqual(answer('scheduled'))
    const refusal = { detail: expect.stringContaining('Invalid field end_time: is 1970-') }
    expect(await upgrade(0, { version: NEW, end_time: 1 }, 1)).toMatchObject({ status: 400, body: refusal })
    await fleet.disconnect([device(0, 2)])
    expect((await upgrade(0, { version: NEW }, 2)).body).toEqual(answer('scheduled'))
    expect((await upgrade(1, { version: OLD })).body).toEqual(answer('success'))
    const { body: list } = await call('GET', upgrades(0))
    expect(list.map(({ counts }: { counts: { total: number } }) => counts.total)).toEqual([1, 1, 1])
  })

  it('is refused while the device is in another one, which the answer names', async () => {
    const { body: first } = await upgrade(0, { version: NEW })
    expect(await upgrade(0, { version: NEW })).toMatchObject({
      status: 400,
      body: { detail: 'The device is in another upgrade', upgrade_id: first.upgrade_id },
    })
    expect((await call('GET', upgrades(0))).body).toHaveLength(1)
  })

  it('is refused where no maintenance window is long enough for it', async () => {
    const maintenance_windows = [{ start: '02:00', end: '02:10' }]
    const { status, body } = await upgrade(1, { version: NEW, reboot: true, maintenance_windows })
    expect([status, body.detail]).toEqual([
      400,
      expect.stringMatching(/^The device can't be upgraded: may take 20 min/),
    ])
    expect((await call('GET', upgrades(1))).body).toEqual([])
  })

  it('needs a version that there is, and a device of the site', async () => {
    expect((await upgrade(0, {})).status).toBe(400)
    expect((await upgrade(0, { version: '9.9.9' })).body.detail).toMatch(/^Invalid field version: /)
    expect((await upgrade(1, { version: NEW })).body.detail).toMatch(/^Invalid field reboot: /)
    const foreign = await call('POST', `${site(0)}/devices/${device(1).id}/upgrade`, { version: NEW, reboot: true })
    expect(foreign).toMatchObject({ status: 404, body: { id: device(1).id } })
  })
})

describe('an upgrade of a device by its MAC', () => {
  const ofMac = (mac: string, body: unknown = {}) =>
    call('POST', `/orgs/${admin.orgId}/jsi/devices/${mac}/upgrade`, body)

  it('installs the version on the device alone, and reboots it', async () => {
    const { mac } = device(1)
    const { status, body } = await ofMac(mac.toUpperCase().match(/../g)?.join(':') ?? '', { version: NEW })
    expect([status, body.status]).toEqual([200, 'starting'])
    const { body: found } = await call('GET', upgrades(1, `/${body.upgrade_id}`))
    expect(found).toMatchObject({ target_version: NEW, targets: { total: 1 } })
    expect(found.reboot_at).not.toBe(-1)
    expect((await ofMac(mac)).body).toMatchObject({ upgrade_id: body.upgrade_id })
  })

  it('takes the latest version where none is named', async () => {
    const { body } = await ofMac(device(1).mac)
    expect((await call('GET', upgrades(1, `/${body.upgrade_id}`))).body).toMatchObject({ targets: { total: 1 } })
  })

  it('is refused where the device can not be upgraded, without an upgrade of nothing', async () => {
    await server.ctx.db
      .deleteFrom('firmwareVersion')
      .where('orgId', '=', admin.orgId)
      .where('model', '=', 'SW24')
      .execute()
    const { status, body } = await ofMac(device(1).mac)
    expect([status, body.detail]).toEqual([400, "The device can't be upgraded: no firmware latest for model SW24"])
    expect((await call('GET', upgrades(1))).body).toEqual([])
  })

  it('is not found for access points and for devices of others', async () => {
    for (const mac of [device(0).mac, '02feed000001']) expect((await ofMac(mac)).status).toBe(404)
    expect(await ofMac('nonsense')).toMatchObject({ status: 400 })
  })
})
