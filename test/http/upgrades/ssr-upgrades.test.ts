import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { includeAll } from '../../../src/upgrades/include-new.worker.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { type MadeDevice, addSite, claimNewDevice, connectDevice } from '../../support/fleets/devices.ts'
import type { Answer, TestServer } from '../../support/servers/server.ts'
import { type SsrWorld, routerCapabilities, startSsrWorld } from './ssr-world.ts'

let world: SsrWorld
let server: TestServer
let siteId: string
let routers: readonly MadeDevice[]
let path: string
beforeAll(async () => {
  world = await startSsrWorld()
  ;({ server, path } = world)
  await world.upload('version=23.4R1&models=SRX300&tag=stable')
})
afterAll(() => server.close())
beforeEach(async () => {
  siteId = await addSite(server)
  routers = await connectedRouters(2)
})

const connectedRouters = (count: number, model?: string) => world.connectRouters(siteId, count, model)

const ids = () => routers.map(({ id }) => id)
const macs = () => routers.map(({ mac }) => mac).toSorted()
const upgrade = (body: object): Promise<Answer> => server.call('POST', path, { body: { device_ids: ids(), ...body } })
const detail = async (id: string): Promise<AnyJson> => (await server.call('GET', `${path}/${id}`)).body
const nowS = () => Math.floor(Date.now() / 1000)

async function planOf(id: string) {
  return server.ctx.db
    .selectFrom('siteUpgrade')
    .select(['startAt', 'rebootAt', 'plan'])
    .where('orgUpgradeId', '=', id)
    .executeTakeFirstOrThrow()
}

async function rowsOf(): Promise<number> {
  const rows = await server.ctx.db.selectFrom('orgUpgrade').select('id').where('kind', '=', 'ssr').execute()
  return rows.length
}

describe('an upgrade of SSR routers', () => {
  test('gets the highest version of the stable channel by default, all at once', async () => {
    const { status, body } = await upgrade({})
    expect([status, body]).toEqual([
      200,
      {
        id: expect.any(String),
        status: 'queued',
        strategy: 'big_bang',
        channel: 'stable',
        device_type: 'gateway',
        versions: { SSR120: '6.2.0' },
        counts: { queued: 2, upgrading: 0, success: 0, failed: 0, cancelled: 0 },
      },
    ])
    expect((await planOf(body.id)).plan).toMatchObject({ phases: 1, stages: true })
    expect((await planOf(body.id)).plan).not.toHaveProperty('only')
  })

  test('takes the channel, the version, the strategy and the times of the request', async () => {
    const [start, reboot] = [nowS() + 1000, nowS() + 5000]
    const beta = await upgrade({ channel: 'beta', strategy: 'serial', start_time: start, reboot_at: reboot })
    expect(beta.body).toMatchObject({ channel: 'beta', strategy: 'serial', versions: { SSR120: '6.3.0' } })
    const { plan, startAt, rebootAt } = await planOf(beta.body.id)
    expect([plan.phases, startAt.getTime() / 1000, rebootAt.getTime() / 1000]).toEqual([2, start, reboot])
    await server.call('POST', `${path}/${beta.body.id}/cancel`)
    routers = await connectedRouters(1)
    expect((await upgrade({ version: '6.1.0' })).body).toMatchObject({
      channel: 'stable',
      versions: { SSR120: '6.1.0' },
    })
    routers = await connectedRouters(1)
    expect((await upgrade({ version: 'beta' })).body).toMatchObject({ channel: 'beta', versions: { SSR120: '6.3.0' } })
    // A version that is named without a channel brings its own.
    routers = await connectedRouters(1)
    const single = `/sites/${siteId}/ssr/${routers[0]?.id}/upgrade`
    expect((await server.call('POST', single, { body: { version: '6.3.0' } })).body).toMatchObject({ channel: 'beta' })
  })

  test('is listed, shown and cancelled by operations of its own', async () => {
    const { id } = (await upgrade({})).body
    const listed = (await server.call('GET', path)).body
    expect(listed[0]).toMatchObject({ id, counts: { queued: 2 } })
    const shown = await detail(id)
    expect(shown).toEqual({
      id,
      status: 'queued',
      strategy: 'big_bang',
      channel: 'stable',
      device_type: 'gateway',
      versions: { SSR120: '6.2.0' },
      targets: { queued: macs(), upgrading: [], success: [], failed: [], cancelled: [] },
      notes: [],
      upgrades: [
        {
          site_id: siteId,
          upgrade: expect.objectContaining({
            status: 'queued',
            targets: expect.objectContaining({ scheduled: expect.arrayContaining(macs()), total: 2 }),
          }),
        },
      ],
    })
    expect((await server.call('GET', `${path}/${id}/cancel`)).body).toEqual(shown)
    expect((await server.call('GET', `/sites/${siteId}/ssr/upgrade/${id}`)).body).toEqual(shown)
    expect((await server.call('POST', `${path}/${id}/cancel`)).status).toBe(200)
    const { plan: _, ...stopping } = await server.ctx.db
      .selectFrom('siteUpgrade')
      .select(['stopping', 'plan'])
      .where('orgUpgradeId', '=', id)
      .executeTakeFirstOrThrow()
    expect(stopping).toEqual({ stopping: 'cancelled' })
  })

  test('is not an upgrade of devices, and an upgrade of devices is none of SSR routers', async () => {
    const { id } = (await upgrade({})).body
    const devices = `/orgs/${server.org.orgId}/devices/upgrade`
    const listed: { id: string }[] = (await server.call('GET', `${devices}?limit=1000`)).body
    expect(listed.map((one) => one.id)).not.toContain(id)
    for (const suffix of ['', '/report', '/targets', `/targets/${macs()[0]}`])
      expect((await server.call('GET', `${devices}/${id}${suffix}`)).status).toBe(404)
    expect((await server.call('GET', `/sites/${siteId}/devices/upgrade`)).body).toEqual([])
    const plain = await server.call('POST', devices, { body: { site_ids: [siteId], version: '6.1.0' } })
    for (const suffix of ['', '/report', '/targets'])
      expect((await server.call('GET', `${path}/${plain.body.id}${suffix}`)).status).toBe(404)
  })

  test('has a report, and the course of each router', async () => {
    const { id } = (await upgrade({ strategy: 'serial' })).body
    const report = await server.call('GET', `${path}/${id}/report`)
    expect(report.body).toMatchObject({
      status: 'queued',
      strategy: 'serial',
      total: 2,
      phases: [{ total: 1 }, { total: 1 }],
    })
    expect(report.body.devices).toMatchObject(
      macs().map(() => ({ status: 'scheduled', model: 'SSR120', from_version: '6.0.0', version: '6.2.0' })),
    )
    const [free] = await connectedRouters(1)
    const other = (await upgrade({ device_ids: [routers[0]?.id, free?.id] })).body
    const { body } = await server.call('GET', `${path}/${other.id}/report`)
    expect(body.devices).toMatchObject([
      { mac: free?.mac, status: 'scheduled', model: 'SSR120' },
      { mac: routers[0]?.mac, status: 'left_out', model: 'SSR120', reason: expect.stringMatching(/^in upgrade /) },
    ])
    const targets = (await server.call('GET', `${path}/${id}/targets?status=scheduled`)).body
    expect(targets.map(({ mac }: AnyJson) => mac).toSorted()).toEqual(macs())
    const one = await server.call('GET', `${path}/${id}/targets/${macs()[0]}`)
    expect(one.body).toMatchObject({ model: 'SSR120', timeline: [{ kind: 'event' }, { what: 'scheduled' }] })
  })

  test('shows at a site only what happens there', async () => {
    const first = siteId
    const [here] = routers
    siteId = await addSite(server)
    const [there] = await connectedRouters(1)
    const { body } = await upgrade({ device_ids: [here?.id, there?.id] })
    expect((await detail(body.id)).targets.queued).toEqual([here, there].map((device) => device?.mac ?? '').toSorted())
    const atFirst = (await server.call('GET', `/sites/${first}/ssr/upgrade/${body.id}`)).body
    expect(atFirst.targets.queued).toEqual([here?.mac])
    expect(atFirst.upgrades).toMatchObject([{ site_id: first, upgrade: { targets: { total: 1 } } }])
    const empty = await addSite(server)
    expect((await server.call('GET', `/sites/${empty}/ssr/upgrade/${body.id}`)).status).toBe(404)
  })

  test('of one router answers the same record', async () => {
    const [router] = routers
    const one = `/sites/${siteId}/ssr/${router?.id}/upgrade`
    const { status, body } = await server.call('POST', one, { body: { version: 'stable' } })
    expect([status, body]).toMatchObject([200, { versions: { SSR120: '6.2.0' }, counts: { queued: 1 } }])
    expect((await detail(body.id)).targets.queued).toEqual([router?.mac])
    expect(await server.call('POST', one, { body: { version: 'stable' } })).toMatchObject({
      status: 400,
      body: { detail: 'The router is in another upgrade' },
    })
    expect((await server.call('POST', one, { body: {} })).status).toBe(400)
    const other = await addSite(server)
    const elsewhere = `/sites/${other}/ssr/${router?.id}/upgrade`
    expect((await server.call('POST', elsewhere, { body: { version: 'stable' } })).status).toBe(404)
  })

  test('of routers that are in another upgrade, or have other reasons, is refused with all of them', async () => {
    const [busy, full] = routers
    await server.call('POST', `/sites/${siteId}/ssr/${busy?.id}/upgrade`, { body: { version: 'stable' } })
    const unable = { ...routerCapabilities, commands: ['restart'] as const, refusals: { upgrade: 'Its disk is full' } }
    const facts = { firmware: '6.0.0', model: 'SSR120', type: 'gateway', capabilities: unable } as const
    await connectDevice(server.ctx, full?.mac ?? '', facts)
    expect(await upgrade({})).toMatchObject({
      status: 400,
      body: { detail: expect.stringMatching(/: no router can be upgraded: Its disk is full; in upgrade \S+$/) },
    })
  })

  test('that must not reboot only downloads', async () => {
    const { body } = await upgrade({ reboot_at: -1 })
    expect((await planOf(body.id)).plan).toMatchObject({ only: 'stage', stages: true })
  })

  test('that must not download is refused while no router has the version', async () => {
    expect(await upgrade({ start_time: -1 })).toMatchObject({
      status: 400,
      body: {
        detail: expect.stringContaining('Invalid field start_time'),
        reason: expect.stringContaining('has not downloaded 6.2.0'),
      },
    })
  })
})

describe('an upgrade of SSR routers with include_new', () => {
  async function look(id: string): Promise<void> {
    await server.ctx.db.updateTable('orgUpgrade').set({ includeDueMs: 0 }).where('id', '=', id).execute()
    await includeAll(server.ctx)
  }

  test('takes in routers that are claimed for its sites later, and none that it could have named', async () => {
    const [named, unnamed] = routers
    await connectedRouters(1, 'SRX300')
    const { id } = (await upgrade({ device_ids: [named?.id], include_new: true, start_time: nowS() + 1000 })).body
    const joined = await connectedRouters(1)
    await connectedRouters(1, 'SRX300')
    await look(id)
    expect((await detail(id)).targets.queued).toEqual([named, ...joined].map((router) => router?.mac ?? '').toSorted())
    expect((await upgrade({ device_ids: [unnamed?.id] })).status).toBe(200)
    expect((await upgrade({ device_ids: joined.map((router) => router.id) })).status).toBe(400)
  })

  test('is refused where routers that join have nothing to install, and for a single router', async () => {
    const installs = await upgrade({ include_new: true, start_time: -1 })
    expect([installs.status, installs.body.detail]).toEqual([400, expect.stringContaining('Invalid field include_new')])
    const [router] = routers
    const body = { version: 'stable', include_new: true }
    const single = await server.call('POST', `/sites/${siteId}/ssr/${router?.id}/upgrade`, { body })
    expect([single.status, single.body.detail]).toEqual([400, expect.stringContaining('include_new')])
  })
})

describe('a request that cannot take effect', () => {
  const wrong: readonly (readonly [string, string, object])[] = [
    ['reboot_at', 'with neither a download nor a reboot', { start_time: -1, reboot_at: -1 }],
    ['reboot_at', 'before start_time', { start_time: nowS() + 900, reboot_at: nowS() + 800 }],
    ['end_time', 'but devices begin at', { start_time: nowS() + 900, end_time: nowS() + 800 }],
    ['start_time', 'more than 5 minutes ago', { start_time: nowS() - 900 }],
    ['reboot_at', 'more than 5 minutes ago', { reboot_at: nowS() - 900 }],
    ['start_time', '', { start_time: -2 }],
    ['reboot_at', '', { reboot_at: 1.5 }],
    ['channel', '', { channel: 'gamma' }],
    ['channel', 'no firmware alpha for model SSR120', { channel: 'alpha' }],
    ['channel', 'is stable, but 6.3.0 for SSR120 is in beta', { channel: 'stable', version: '6.3.0' }],
    ['channel', 'both must name one channel', { channel: 'beta', version: 'stable' }],
    ['version', 'there is no firmware 9.9.9', { version: '9.9.9' }],
    ['version', 'no firmware 23.4R1 for model SSR120', { version: '23.4R1' }],
    ['strategy', '', { strategy: 'canary' }],
    [
      'phase_gates.0.phase',
      'is 1, but of an upgrade of SSR routers only the start can wait',
      { phase_gates: [{ phase: 1, wait_for: 'approval' }] },
    ],
    ['phase_gates.0.wait_for', 'is pause, but phase 0', { phase_gates: [{ phase: 0, wait_for: 'pause' }] }],
    ['device_ids', '', { device_ids: [] }],
    ['device_ids', '', { device_ids: undefined }],
    ['device_ids.0', '', { device_ids: ['x'] }],
  ]
  test.each(wrong)('is refused by the field %s: %s', async (field, reason, body) => {
    const before = await rowsOf()
    const answer = await upgrade(body)
    expect([answer.status, answer.body.detail]).toEqual([400, expect.stringContaining(`Invalid field ${field}`)])
    expect(answer.body.reason).toContain(reason)
    expect(await rowsOf()).toBe(before)
  })

  test('is refused by the first device that is not a router of a site of the organization', async () => {
    const [srx] = await connectedRouters(1, 'SRX300')
    const homeless = await claimNewDevice(server, { model: 'SSR120' })
    const other = await server.addOrg()
    const foreign = await server.call('GET', `/orgs/${other.orgId}/inventory`, { as: other })
    expect(foreign.body).toEqual([])
    const known = ids()
    const unknown = '00000000-0000-0000-1000-0200000000ff'
    for (const [id, reason] of [
      [srx?.id, `${srx?.mac} has the model SRX300, which is no SSR router`],
      [homeless.id, `${homeless.mac} is in no site`],
      [unknown, `there is no device ${unknown} here`],
    ]) {
      const answer = await upgrade({ device_ids: [...known, id] })
      expect([answer.status, answer.body.detail]).toEqual([400, expect.stringContaining('device_ids.2')])
      expect(answer.body.reason).toBe(reason)
    }
  })
})

describe('the versions for SSR routers', () => {
  const versions = async (query = ''): Promise<Answer> =>
    server.call('GET', `/orgs/${server.org.orgId}/ssr/versions${query}`)

  test('are those of one channel, stable by default', async () => {
    expect((await versions()).body).toEqual([
      { package: 'SSR120', version: '6.2.0', tags: ['stable'], default: true },
      { package: 'SSR120', version: '6.1.0', tags: ['stable'], default: false },
    ])
    expect((await versions('?channel=beta')).body).toMatchObject([{ version: '6.3.0', default: true }])
    expect((await versions('?channel=alpha')).body).toEqual([])
  })

  test('are those for the model of one router', async () => {
    const [other] = await connectedRouters(1, 'SSR130')
    const [srx] = await connectedRouters(1, 'SRX300')
    const [router] = routers
    expect((await versions(`?mac=${router?.mac}`)).body).toHaveLength(2)
    expect((await versions(`?mac=${other?.mac}`)).body).toEqual([])
    for (const mac of [srx?.mac, 'xyz', '020000000000'])
      expect(await versions(`?mac=${mac}`)).toMatchObject({
        status: 400,
        body: { detail: expect.stringContaining('Invalid field mac') },
      })
  })
})

test('a preview of an upgrade of routers starts nothing, and is carried out by its id', async () => {
  const before = await rowsOf()
  const { body } = await upgrade({ strategy: 'serial', dry_run: true })
  expect(body).toMatchObject({ total: 2, phases: [{ total: 1 }, { total: 1 }] })
  expect(await rowsOf()).toBe(before)
  // The id is enough, as for other kinds of upgrades; routers that a client names must be those of the plan.
  const others = { plan_id: body.plan_id, device_ids: ids().slice(1) }
  expect(await upgrade(others)).toMatchObject({ status: 400, body: { reason: expect.stringContaining('differs') } })
  const started = await server.call('POST', path, { body: { plan_id: body.plan_id } })
  expect(started).toMatchObject({ status: 200, body: { id: body.plan_id } })
  const nobody = await server.call('POST', path, { body: { strategy: 'serial' } })
  expect(nobody).toMatchObject({
    status: 400,
    body: { detail: 'Invalid field device_ids: must name the routers, unless plan_id names a plan' },
  })
  const [router] = routers
  const one = `/sites/${siteId}/ssr/${router?.id}/upgrade`
  const plan = await server.call('POST', one, { body: { version: '6.2.0', dry_run: true } })
  expect(plan.body).toMatchObject({
    total: 0,
    skipped: [{ mac: router?.mac, reason: expect.stringMatching(/^in upgrade /) }],
  })
})

test('leaves a router alone that runs the version, if another upgrade is to install another one', async () => {
  const [router] = routers
  const one = `/sites/${siteId}/ssr/${router?.id}/upgrade`
  const facts = { firmware: '6.1.0', model: 'SSR120', type: 'gateway', capabilities: routerCapabilities } as const
  await connectDevice(server.ctx, router?.mac ?? '', facts)
  const current = { version: '6.1.0' }
  const staged = await server.call('POST', one, {
    body: { version: '6.2.0', reboot_at: -1, start_time: nowS() + 3600 },
  })
  expect(staged).toMatchObject({ status: 200, body: { counts: { queued: 1 } } })
  for (const supersede of [false, true]) {
    const { body } = await server.call('POST', one, { body: { ...current, supersede } })
    expect(body.status).toBe('completed')
    expect((await detail(body.id)).notes).toEqual([])
  }
  const body = { version: '6.2.0', start_time: nowS() + 3600, supersede: true }
  const { body: old } = await server.call('POST', one, { body })
  expect(await server.call('POST', one, { body: current })).toMatchObject({
    status: 400,
    body: { detail: 'The router is in another upgrade' },
  })
  const taken = await server.call('POST', one, { body: { ...current, supersede: true } })
  expect(taken).toMatchObject({ status: 200, body: { status: 'completed' } })
  expect((await detail(taken.body.id)).notes).toEqual([{ reason: `1 device is taken over from upgrade ${old.id}` }])
  expect((await detail(old.id)).targets.cancelled).toEqual([router?.mac])
})
