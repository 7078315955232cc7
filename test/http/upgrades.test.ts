import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { DateTime } from 'luxon'
import { uuidv7 } from 'uuidv7'
import { NEW, OLD, type SeededOrg, type SiteSeed, createFleet, seedOrg } from '../support/fleet.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from '../support/server.ts'

const seeds: readonly SiteSeed[] = [
  { devices: 3, name: 'Berlin', timezone: 'Europe/Berlin' },
  { devices: 2, name: 'Tokyo', timezone: 'Asia/Tokyo', model: 'SW24', type: 'switch' },
]

let server: TestServer
let admin: TestOrg
let org: SeededOrg
let path: string
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())
beforeEach(async () => {
  admin = await server.addOrg()
  org = await seedOrg(server.ctx, seeds, admin.orgId)
  await createFleet(server.ctx, [org]).connect(org.sites.flatMap((site) => site.devices))
  path = `/orgs/${admin.orgId}/devices/upgrade`
})

const post = (body?: unknown): Promise<Answer> => server.call('POST', path, { body, as: admin })
const get = (suffix = ''): Promise<Answer> => server.call('GET', path + suffix, { as: admin })
const macsOf = (site: number): string[] => org.sites[site]?.devices.map(({ mac }) => mac) ?? []
const siteId = (site: number): string => org.sites[site]?.id ?? ''

interface SiteEntry {
  readonly site_id: string
  readonly upgrade: { readonly id: string }
}

interface Target {
  readonly mac: string
  readonly phase: number
}

function targets(): Promise<Target[]> {
  const query = server.ctx.db.selectFrom('upgradeTarget').select(['mac', 'phase']).where('orgId', '=', admin.orgId)
  return query.orderBy('ordinal').execute()
}

async function siteUpgrades() {
  return server.ctx.db
    .selectFrom('siteUpgrade')
    .select(['siteId', 'startAt', 'rebootAt', 'plan'])
    .where('orgId', '=', admin.orgId)
    .orderBy('id')
    .execute()
}

async function rowsLeft(): Promise<number> {
  const tables = ['orgUpgrade', 'siteUpgrade', 'upgradeTarget', 'activeUpgradeTarget', 'deviceCommand'] as const
  const counts = tables.map(async (table) => {
    const { count } = await server.ctx.db
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<string>().as('count'))
      .where('orgId', '=', admin.orgId)
      .executeTakeFirstOrThrow()
    return Number(count)
  })
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
}

describe('an upgrade', () => {
  it('is answered with its plan, and read and listed the same', async () => {
    const answer = await post({ all_sites: true, strategy: 'canary' })
    expect(answer.status).toBe(200)
    const empty = {
      download_requested: [],
      downloading: [],
      downloaded: [],
      reboot_in_progress: [],
      rebooted: [],
      upgraded: [],
      failed: [],
      skipped: [],
      cancelled: [],
    }
    const upgrade = (site: number) => ({
      site_id: siteId(site),
      upgrade: {
        id: expect.any(String),
        start_time: expect.any(Number),
        status: 'queued',
        targets: { ...empty, scheduled: expect.any(Array), total: seeds[site]?.devices },
        notes: [],
      },
    })
    expect(answer.body).toEqual({
      id: expect.any(String),
      enable_p2p: false,
      force: false,
      strategy: 'canary',
      target_version: NEW,
      upgrades: [upgrade(0), upgrade(1)],
    })
    expect(answer.body.upgrades[0].upgrade.targets.scheduled.toSorted()).toEqual(macsOf(0))
    expect((await get(`/${answer.body.id}`)).body).toEqual(answer.body)
    const list = await get('?limit=10')
    expect(list.body).toEqual([
      {
        id: answer.body.id,
        site_upgrades: answer.body.upgrades.map((one: SiteEntry) => ({
          site_id: one.site_id,
          upgrade_id: one.upgrade.id,
        })),
      },
    ])
    expect(list.headers.get('x-page-total')).toBe('1')
    const audit = server.ctx.db.selectFrom('auditLog').select(['message', 'after']).where('orgId', '=', admin.orgId)
    expect(await audit.where('message', 'like', 'Upgrade %').execute()).toMatchObject([
      { message: `Upgrade 5 devices to ${NEW}`, after: { strategy: 'canary' } },
    ])
  })

  it.each([{}, { all_sites: false }, { site_ids: [] }])(
    'without a site has nothing to do, and says so: %o',
    async (body) => {
      const answer = await post(body)
      const notes = [{ reason: expect.stringMatching(/^Nothing is selected: .*all_sites.*site_ids/) }]
      expect(answer).toMatchObject({
        status: 200,
        body: { strategy: 'big_bang', target_version: 'latest', upgrades: [], notes },
      })
      expect((await get(`/${answer.body.id}`)).body).toEqual(answer.body)
      const audit = server.ctx.db.selectFrom('auditLog').select(['message', 'after']).where('orgId', '=', admin.orgId)
      expect(await audit.where('message', 'like', 'Upgrade %').execute()).toMatchObject([
        { message: 'Upgrade 0 devices to latest', after: { notes } },
      ])
    },
  )

  it('that matches no device of its sites says so', async () => {
    const { body } = await post({ site_ids: [siteId(0)], models: ['SW24'] })
    expect(body).toMatchObject({ upgrades: [{ upgrade: { status: 'completed' } }] })
    expect(body.notes).toEqual([{ reason: expect.stringMatching(/^Nothing is selected: no device/) }])
  })

  it('is not run by a request for a preview, wherever that stands', async () => {
    const answer = await server.call('POST', `${path}?dry_run=True`, { body: { all_sites: true }, as: admin })
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining('Invalid field dry_run: ') } })
    expect(await rowsLeft()).toBe(0)
    expect((await post({ all_sites: true, dry_run: false })).status).toBe(200)
  })

  it('that has just missed its start begins at once', async () => {
    const before = Date.now()
    const recent = Math.floor(before / 1000) - 240
    expect((await post({ all_sites: true, start_time: recent })).status).toBe(200)
    for (const { startAt } of await siteUpgrades()) expect(startAt.getTime()).toBeGreaterThanOrEqual(before)
  })

  it('by another strategy than canary notes that max_failures means nothing', async () => {
    const { body } = await post({ all_sites: true, strategy: 'serial', max_failures: [1] })
    expect(body.notes).toEqual([{ reason: expect.stringContaining('max_failures') }])
  })

  it('takes an empty body and unknown fields', async () => {
    expect(
      (await server.call('POST', path, { as: admin, headers: { 'content-type': 'application/json' } })).status,
    ).toBe(200)
    expect((await post({ all_sites: true, surprise: { x: 1 }, '-rules': '' })).status).toBe(200)
  })

  it('takes the defaults of everything, spelled out', async () => {
    const body = {
      all_sites: true,
      download_strategy: 'big_bang',
      reboot_strategy: 'canary',
      strategy: 'big_bang',
      canary_phases: [1, 10, 50, 100],
      max_failure_percentage: 5,
      snapshot: false,
      enable_p2p: false,
      p2p_cluster_size: 10,
      rrm_mesh_upgrade: 'sequential',
      rrm_node_order: 'fringe_to_center',
      rrm_slow_ramp: false,
      rules: [],
      models: [],
      versions: [],
      start_time: 0,
    }
    expect(await post(body)).toMatchObject({ status: 200, body: { strategy: 'canary' } })
  })

  it.each([
    [{ site_ids: 0 }, [0]],
    [{ device_type: 'switch' }, [1]],
    [{ models: [['AP45'], ['AP45']] }, [0]],
    [{ models: ['AP45', 'SW24'], rules: [] }, [0, 1]],
    [{ rules: [{ match_model: 'SW24' }, { 'match_model[0:2]': 'XX' }] }, [1]],
    [{ rules: [{ match_model: 'SW24', match_name: 'core' }] }, []],
    [{ versions: [{ firmware_type: 'junos', version: NEW }] }, [1]],
    [{ versions: [{ model_version: { AP45: NEW } }] }, [0]],
    [{ versions: [NEW] }, [0, 1]],
  ])('selects by %o', async ({ site_ids: site, ...body }: Record<string, unknown>, selected) => {
    const answer = await post({ ...body, ...(site === undefined ? { all_sites: true } : { site_ids: [siteId(0)] }) })
    expect(answer.status).toBe(200)
    expect((await targets()).map(({ mac }) => mac).sort()).toEqual(selected.flatMap(macsOf))
  })

  it('notes the devices that get nothing', async () => {
    const answer = await post({ all_sites: true, versions: [{ firmware_type: 'ap', version: NEW }] })
    expect(answer.body.upgrades[1].upgrade).toMatchObject({
      status: 'completed',
      notes: macsOf(1).map((mac) => ({ mac, reason: 'no version requested for model SW24' })),
    })
  })

  it('skips what runs its version, unless forced', async () => {
    const skipping = await post({ site_ids: [siteId(0)], version: OLD })
    expect(skipping.body.upgrades[0].upgrade).toMatchObject({
      status: 'completed',
      targets: { total: 3, scheduled: [] },
    })
    expect(skipping.body.upgrades[0].upgrade.targets.skipped).toHaveLength(3)
    const forced = await post({ site_ids: [siteId(0)], versions: [{ version: OLD, force: true }] })
    expect(forced.body).toMatchObject({
      force: true,
      upgrades: [{ upgrade: { status: 'queued', targets: { skipped: [] } } }],
    })
  })
})

describe('fields', () => {
  it('resolves local times by the clocks of each site, and instants not', async () => {
    await post({ all_sites: true, start_datetime: '2031-06-13 15:00:00', reboot_datetime: '2031-06-14T00:00:00Z' })
    expect(await siteUpgrades()).toMatchObject([
      { startAt: new Date('2031-06-13T13:00:00Z'), rebootAt: new Date('2031-06-14T00:00:00Z') },
      { startAt: new Date('2031-06-13T06:00:00Z'), rebootAt: new Date('2031-06-14T00:00:00Z') },
    ])
  })

  it('lets the new fields win, one by one', async () => {
    await post({
      all_sites: true,
      start_datetime: '2031-01-01T00:00:00Z',
      start_time: 1,
      reboot_at: 2_000_000_000,
      strategy: 'serial',
      reboot_strategy: 'canary',
      download_strategy: 'canary',
      canary_phases: [40],
      max_failures: [1, 2],
      version: 'beta',
      versions: [{ version: NEW }],
    })
    expect(await siteUpgrades()).toMatchObject([
      {
        startAt: new Date('2031-01-01T00:00:00Z'),
        rebootAt: new Date(2_000_000_000_000),
        plan: {
          strategy: 'canary',
          phases: 2,
          gates: null,
          max_failure_percentage: null,
        },
      },
      { plan: { planned: 2, timezone: 'Asia/Tokyo' } },
    ])
    expect((await targets()).map(({ phase }) => phase).toSorted((a, b) => a - b)).toEqual([1, 1, 2, 2, 2])
  })

  it('starts a site now where the local time has gone by, and notes it', async () => {
    const soon = DateTime.now().setZone('Europe/Berlin').plus({ hours: 1 }).startOf('second')
    const { status, body } = await post({ all_sites: true, start_datetime: soon.toFormat("yyyy-MM-dd'T'HH:mm:ss") })
    expect(status).toBe(200)
    const [berlin, tokyo] = await siteUpgrades()
    expect(berlin?.startAt).toEqual(soon.toJSDate())
    expect(tokyo?.startAt.getTime()).toBeLessThanOrEqual(Date.now())
    const reason = 'start_datetime has gone by already in the time zone Asia/Tokyo: the site starts now'
    expect(body.upgrades.map((site: { upgrade: { notes: unknown } }) => site.upgrade.notes)).toEqual([[], [{ reason }]])
  })

  it('shows the strategy of the reboots, big_bang, where only that of the downloads is sent', async () => {
    const { body } = await post({ all_sites: true, download_strategy: 'canary', canary_phases: [40] })
    expect(body).toMatchObject({ strategy: 'big_bang', notes: [{ reason: expect.stringContaining('canary') }] })
    expect((await targets()).map(({ phase }) => phase)).toEqual(expect.arrayContaining([1, 2]))
  })

  it('takes canary phases as shares of each site where phase_scope says so', async () => {
    await post({ all_sites: true, strategy: 'canary', canary_phases: [40], phase_scope: 'site' })
    expect(await siteUpgrades()).toMatchObject([{ plan: { phase_sizes: [2, 1] } }, { plan: { phase_sizes: [1, 1] } }])
  })

  it.each([
    [{ enable_p2p: true }, 'enable_p2p', 'not supported yet'],
    [{ snapshot: true }, 'snapshot', 'not supported yet'],
    [{ strategy: 'rrm' }, 'strategy', 'not supported yet'],
    [{ reboot_strategy: 'rrm' }, 'reboot_strategy', 'not supported yet'],
    [{ rrm_slow_ramp: true }, 'rrm_slow_ramp', 'not supported yet'],
    [{ rrm_max_batch_percentage: 50 }, 'rrm_max_batch_percentage', 'not supported yet'],
    [{ rrm_node_order: 'center_to_fringe' }, 'rrm_node_order', 'not supported yet'],
    [{ download_strategy: 'canary', reboot_strategy: 'serial' }, 'download_strategy', '5 of the devices download and'],
    [
      { all_sites: false, download_strategy: 'serial', reboot_strategy: 'canary' },
      'download_strategy',
      'not supported',
    ],
    [{ strategy: 'fast' }, 'strategy', ''],
    [{ canary_phases: [10, 20, 20] }, 'canary_phases', 'must rise'],
    [{ canary_phases: [50, 40] }, 'canary_phases', 'must rise'],
    [{ canary_phases: [0, 100] }, 'canary_phases.0', ''],
    [{ strategy: 'canary', phase_scope: 'region' }, 'phase_scope', ''],
    [{ strategy: 'canary', max_failures: [1, 2] }, 'max_failures', 'each of the 4 phases'],
    [{ versions: ['9.9.9'] }, 'versions.0', 'no firmware 9.9.9'],
    [{ versions: [''] }, 'versions.0', ''],
    [{ max_failures: [1] }, 'max_failures', 'big_bang'],
    [{ strategy: 'big_bang', max_failures: [1, 2, 3, 4] }, 'max_failures', 'big_bang'],
    [{ max_failure_percentage: 101 }, 'max_failure_percentage', ''],
    [{ rules: [{ match_serial: 'x' }] }, 'rules.0.match_serial', 'is no match_name'],
    [{ rules: [{}] }, 'rules.0', 'no condition'],
    [{ versions: [{ firmware_type: 'ap' }] }, 'versions.0', 'needs a version'],
    [{ version: '9.9.9' }, 'version', 'no firmware 9.9.9'],
    [{ versions: [{ version: '9.9.9' }] }, 'versions.0', 'no firmware 9.9.9'],
    [{ versions: [{ model_version: { AP45: '9.9.9' } }] }, 'versions.0.model_version.AP45', 'no firmware 9.9.9'],
    [{ version: 'beta' }, 'version', 'no firmware beta for model AP45'],
    [{ start_datetime: 'tomorrow' }, 'start_datetime', 'ISO 8601'],
    [{ start_datetime: '2026-01-01T00:00' }, 'start_datetime', 'gone by already at Berlin (Europe/Berlin), Tokyo'],
    [{ start_datetime: '2026-01-01T00:00:00Z' }, 'start_datetime', 'more than 5 minutes ago'],
    [{ start_time: 1 }, 'start_time', '1970-01-01T00:00:01.000Z'],
    [{ reboot_datetime: '2026-01-01T00:00:00+02:00' }, 'reboot_datetime', '2025-12-31T22:00:00.000Z'],
    [{ reboot_at: 1 }, 'reboot_at', 'more than 5 minutes ago'],
    [{ start_time: -1 }, 'start_time', ''],
    [{ start_time: 1.5 }, 'start_time', ''],
    [{ all_sites: 'yes' }, 'all_sites', ''],
    [{ site_ids: ['x'] }, 'site_ids.0', ''],
    [{ device_type: 'phone' }, 'device_type', ''],
    [{ models: 'AP45' }, 'models', ''],
    [{ models: [['AP45'], ['AP45', 'AP99']] }, 'models.1.1', 'AP99'],
    [{ models: ['AP99'] }, 'models.0', 'AP99'],
    [{ all_sites: false, models: ['AP99'] }, 'models.0', 'AP99'],
    [{ dry_run: true }, 'dry_run', 'not supported yet'],
    [{ dry_run: 'true' }, 'dry_run', ''],
  ])('refuses %o', async (body, field, reason) => {
    const answer = await post({ all_sites: true, ...body })
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining(`Invalid field ${field}: `) } })
    expect(answer.body.reason).toContain(reason)
    expect(await rowsLeft()).toBe(0)
  })
})

describe('ids', () => {
  it('of unknown and foreign sites are refused alike, by their place in the request, and nothing is changed', async () => {
    const other = await server.addOrg()
    const foreign = await seedOrg(server.ctx, [{ devices: 1 }], other.orgId)
    for (const id of [randomUUID(), foreign.sites[0]?.id ?? ''])
      expect(await post({ site_ids: [siteId(0), id] })).toMatchObject({
        status: 400,
        body: {
          detail: expect.stringContaining('Invalid field site_ids.1: '),
          reason: `there is no site ${id} in this organization`,
        },
      })
    expect(await rowsLeft()).toBe(0)
    expect((await post({ site_ids: [randomUUID()], all_sites: true })).status).toBe(200)
  })

  it('times that no date can show', async () => {
    for (const time of ['+275760-09-13T00:00:00Z', '9999-12-31T23:59:59-12:00'])
      for (const field of ['start_datetime', 'reboot_datetime'])
        expect(await post({ all_sites: true, [field]: time })).toMatchObject({
          status: 400,
          body: { detail: expect.stringContaining(`Invalid field ${field}: `) },
        })
    expect(await rowsLeft()).toBe(0)
  })

  it('of upgrades: unknown, foreign and malformed', async () => {
    const { body } = await post({ all_sites: true })
    const other = await server.addOrg()
    for (const [method, suffix] of [
      ['GET', ''],
      ['POST', '/cancel'],
      ['POST', '/pause'],
      ['POST', '/resume'],
    ] as const) {
      expect((await server.call(method, `${path}/${uuidv7()}${suffix}`, { as: admin })).status).toBe(404)
      expect((await server.call(method, `${path}/nonsense${suffix}`, { as: admin })).status).toBe(404)
      expect((await server.call(method, `${path}/${body.id}${suffix}`, { as: other })).status).toBe(404)
      const own = `/orgs/${other.orgId}/devices/upgrade/${body.id}${suffix}`
      expect((await server.call(method, own, { as: other })).status).toBe(404)
    }
  })
})

it('pause and resume show in the upgrade', async () => {
  const { body } = await post({ all_sites: true })
  const held = async () => {
    const { body: upgrade } = await server.call('GET', `${path}/${body.id}`, { as: admin })
    return upgrade.upgrades.map((site: { upgrade: { held?: unknown } }) => site.upgrade.held)
  }
  expect(await held()).toEqual([undefined, undefined])
  expect(await server.call('POST', `${path}/${body.id}/pause`, { as: admin })).toMatchObject({ status: 200, body: {} })
  const paused = { by: 'user', reason: expect.stringContaining('paused by '), timestamp: expect.any(Number) }
  expect(await held()).toEqual([paused, paused])
  expect(await server.call('POST', `${path}/${body.id}/resume`, { as: admin })).toMatchObject({ status: 200, body: {} })
  expect(await held()).toEqual([undefined, undefined])
})

it('cancel answers an empty object, again and again', async () => {
  const { body } = await post({ all_sites: true })
  for (let again = 0; again < 2; again += 1) {
    const answer = await server.call('POST', `${path}/${body.id}/cancel`, {
      as: admin,
      headers: { 'content-type': 'application/json' },
    })
    expect(answer).toMatchObject({ status: 200, body: {} })
  }
  const stopping = server.ctx.db.selectFrom('siteUpgrade').select('stopping').where('orgId', '=', admin.orgId)
  expect(await stopping.execute()).toEqual([{ stopping: 'cancelled' }, { stopping: 'cancelled' }])
})
