import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { uuidv7 } from 'uuidv7'
import { noCounts } from '../../../src/rollout/rollout.ts'
import { NEW, OLD, seedOrg } from '../../support/fleets/fleet.ts'
import { createUpgradesHarness, seeds } from './upgrades-harness.ts'

const harness = createUpgradesHarness()
const { post, get, macsOf, siteId, targets, siteUpgrades, rowsLeft } = harness

interface SiteEntry {
  readonly site_id: string
  readonly upgrade: { readonly id: string }
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
        strategy: 'canary',
        target_version: NEW,
        status: 'queued',
        created_time: expect.any(Number),
        total: 5,
        upgraded: 0,
        failed: 0,
      },
    ])
    expect(list.headers.get('x-page-total')).toBe('1')
    const audit = harness.server.ctx.db
      .selectFrom('auditLog')
      .select(['message', 'after'])
      .where('orgId', '=', harness.admin.orgId)
    expect(await audit.where('message', 'like', 'Upgrade %').execute()).toMatchObject([
      { message: `Upgrade 5 devices to ${NEW}`, after: { strategy: 'canary' } },
    ])
  })

  it('is listed with what holds it and the figures of all its sites', async () => {
    const { body: empty } = await post({})
    const { body } = await post({ all_sites: true })
    const [ended, waiting] = body.upgrades.map((one: SiteEntry) => one.upgrade.id)
    const hold = (reason: string) => ({ by: 'gate', reason, since_s: 30, since_ms: 30_000 }) as const
    const set = (id: string, values: object) =>
      harness.server.ctx.db.updateTable('siteUpgrade').set(values).where('id', '=', id).execute()
    await set(ended, { status: 'failed', finishedAt: new Date(), hold: hold('former'), counts: { failed: 2 } })
    await set(waiting, { hold: hold('present'), counts: { ...noCounts, upgraded: 1, staged: 1, snapshotting: 1 } })
    const [listed, first] = (await get('?limit=10')).body
    const figures = { total: 5, upgraded: 3, failed: 2 }
    const held = { by: 'gate', reason: 'present', timestamp: 30 }
    expect(listed).toMatchObject({ id: body.id, status: 'running', held, ...figures })
    const none = { site_upgrades: [], status: 'completed', total: 0, upgraded: 0, failed: 0 }
    expect(first).toMatchObject({ id: empty.id, ...none })
    await set(waiting, { status: 'completed', finishedAt: new Date() })
    const [over] = (await get('?limit=10')).body
    expect(over).toMatchObject({ id: body.id, status: 'failed', ...figures })
    expect(over).not.toHaveProperty('held')
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
      const audit = harness.server.ctx.db
        .selectFrom('auditLog')
        .select(['message', 'after'])
        .where('orgId', '=', harness.admin.orgId)
      expect(await audit.where('message', 'like', 'Upgrade %').execute()).toMatchObject([
        { message: 'Upgrade 0 devices to latest', after: { notes } },
      ])
    },
  )

  it('that matches no device of its sites says so', async () => {
    const { body } = await post({ site_ids: [siteId(0)], models: ['SW24'] })
    expect(body).toMatchObject({ upgrades: [{ upgrade: { status: 'completed' } }] })
    expect(body.notes).toEqual([
      { reason: expect.stringMatching(/^Nothing is selected: no device of the site matches /) },
    ])
  })

  it('that has just missed its start begins at once', async () => {
    const before = Date.now()
    const recent = Math.floor(before / 1000) - 240
    expect((await post({ all_sites: true, start_time: recent })).status).toBe(200)
    for (const { startAt } of await siteUpgrades()) expect(startAt.getTime()).toBeGreaterThanOrEqual(before)
  })

  it('that starts later has an event with its start for each device, and one that starts now has none', async () => {
    const search = `/orgs/${harness.admin.orgId}/devices/events/search?device_type=all&type=*_UPGRADE_PENDING`
    const pending = async () => (await harness.server.call('GET', search, { as: harness.admin })).body.results
    await post({ site_ids: [siteId(1)] })
    expect(await pending()).toEqual([])
    const start = Math.floor(Date.now() / 1000) + 3600
    await post({ site_ids: [siteId(0)], start_time: start })
    const text = `until ${new Date(start * 1000).toISOString()}`
    const found = await pending()
    expect(found.map(({ mac }: { mac: string }) => mac).toSorted()).toEqual(macsOf(0).toSorted())
    for (const event of found)
      expect(event).toMatchObject({ type: 'AP_UPGRADE_PENDING', text, audit_id: expect.any(String) })
  })

  it('by another strategy than canary notes that max_failures means nothing', async () => {
    const { body } = await post({ all_sites: true, strategy: 'serial', max_failures: [1] })
    expect(body.notes).toEqual([{ reason: expect.stringContaining('max_failures') }])
  })

  it('takes an empty body and fields that are left unset, and refuses unknown ones', async () => {
    expect(
      (
        await harness.server.call('POST', harness.path, {
          as: harness.admin,
          headers: { 'content-type': 'application/json' },
        })
      ).status,
    ).toBe(200)
    expect((await post({ all_sites: true, '-rules': '' })).status).toBe(200)
    expect(await post({ all_sites: true, surprise: { x: 1 } })).toMatchObject({
      status: 400,
      body: { detail: 'Invalid field surprise: is no field of this operation' },
    })
    expect((await post({ versions: [{ version: '1', '-force': '' }] })).body.detail).toBe(
      'Invalid field versions.0.-force: is no field of this operation',
    )
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

describe('ids', () => {
  it('of unknown and foreign sites are refused alike, by their place in the request, and nothing is changed', async () => {
    const other = await harness.server.addOrg()
    const foreign = await seedOrg(harness.server.ctx, [{ devices: 1 }], other.orgId)
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
    const { body } = await post({ all_sites: true, start_datetime: '9999-12-31T23:00:00Z' })
    expect(body.reason).toBe('is 9999-12-31T23:00:00Z, but must be an ISO 8601 date and time before the year 9999')
    expect(await rowsLeft()).toBe(0)
  })

  it('of upgrades: unknown, foreign and malformed', async () => {
    const { body } = await post({ all_sites: true })
    const other = await harness.server.addOrg()
    for (const [method, suffix] of [
      ['GET', ''],
      ['POST', '/cancel'],
      ['POST', '/pause'],
      ['POST', '/resume'],
    ] as const) {
      expect(
        (await harness.server.call(method, `${harness.path}/${uuidv7()}${suffix}`, { as: harness.admin })).status,
      ).toBe(404)
      expect(
        (await harness.server.call(method, `${harness.path}/nonsense${suffix}`, { as: harness.admin })).status,
      ).toBe(404)
      expect((await harness.server.call(method, `${harness.path}/${body.id}${suffix}`, { as: other })).status).toBe(404)
      const own = `/orgs/${other.orgId}/devices/upgrade/${body.id}${suffix}`
      expect((await harness.server.call(method, own, { as: other })).status).toBe(404)
    }
  })
})

it('pause and resume show in the upgrade', async () => {
  const { body } = await post({ all_sites: true })
  const held = async () => {
    const { body: upgrade } = await harness.server.call('GET', `${harness.path}/${body.id}`, { as: harness.admin })
    return upgrade.upgrades.map((site: { upgrade: { held?: unknown } }) => site.upgrade.held)
  }
  expect(await held()).toEqual([undefined, undefined])
  expect(await harness.server.call('POST', `${harness.path}/${body.id}/pause`, { as: harness.admin })).toMatchObject({
    status: 200,
    body: {},
  })
  const paused = { by: 'user', reason: expect.stringContaining('paused by '), timestamp: expect.any(Number) }
  expect(await held()).toEqual([paused, paused])
  expect(await harness.server.call('POST', `${harness.path}/${body.id}/resume`, { as: harness.admin })).toMatchObject({
    status: 200,
    body: {},
  })
  expect(await held()).toEqual([undefined, undefined])
  // A client that repeats it, because it has got no answer, need not know whether it was done.
  expect((await harness.server.call('POST', `${harness.path}/${body.id}/resume`, { as: harness.admin })).status).toBe(
    200,
  )
  const events = harness.server.ctx.db.selectFrom('upgradeEvent').select('event').where('orgUpgradeId', '=', body.id)
  const types = (await events.execute()).map(({ event }) => event.type)
  expect(types.filter((type) => type === 'UPGRADE_RESUMED')).toHaveLength(1)
})

it('cancel answers an empty object, again and again', async () => {
  const { body } = await post({ all_sites: true })
  for (let again = 0; again < 2; again += 1) {
    const answer = await harness.server.call('POST', `${harness.path}/${body.id}/cancel`, {
      as: harness.admin,
      headers: { 'content-type': 'application/json' },
    })
    expect(answer).toMatchObject({ status: 200, body: {} })
  }
  const stopping = harness.server.ctx.db
    .selectFrom('siteUpgrade')
    .select('stopping')
    .where('orgId', '=', harness.admin.orgId)
  expect(await stopping.execute()).toEqual([{ stopping: 'cancelled' }, { stopping: 'cancelled' }])
})

it('devices are excluded by any form of their MACs, and reports and lists show who excluded them and why', async () => {
  const { path, server, admin } = harness
  const { body } = await post({ all_sites: true })
  const exclude = (id: string, request: object) =>
    server.call('POST', `${path}/${id}/exclude`, { body: request, as: admin })
  const getOf = (suffix: string) => server.call('GET', `${path}/${body.id}/${suffix}`, { as: admin })
  const [first = '', second = ''] = harness.macsOf(0)
  const refused = [
    [{ macs: ['5c5b35000000'] }, 'Invalid field macs.0: 5c5b35000000 is not a device of this upgrade'],
    [{ macs: [] }, expect.stringMatching(/^Invalid field macs: /)],
    [{}, expect.stringMatching(/^Invalid field macs: /)],
    [{ macs: [first], note: 'x'.repeat(201) }, expect.stringMatching(/^Invalid field note: /)],
    [{ macs: [first], note: ' ' }, expect.stringMatching(/^Invalid field note: .*a character other than spaces/)],
  ] as const
  for (const [request, detail] of refused)
    expect(await exclude(body.id, request)).toMatchObject({ status: 400, body: { detail } })
  const colons = first.toUpperCase().replaceAll(/(..)(?!$)/g, '$1:')
  const sent = { macs: [colons], note: 'the rack moves' }
  expect(await exclude(body.id, sent)).toMatchObject({ status: 200, body: { excluded: 1, skipped: [] } })
  const skipped = [{ reason: 'has ended in this upgrade', total: 1, macs: [first] }]
  expect((await exclude(body.id, sent)).body).toEqual({ excluded: 0, skipped })
  const { body: report } = await getOf('report')
  const row = report.devices.find((device: { mac: string }) => device.mac === first)
  expect(row).toMatchObject({ status: 'cancelled', reason: expect.stringMatching(/^excluded by .+: the rack moves$/) })
  expect(report.decisions.at(-1)).toMatchObject({ type: 'UPGRADE_DEVICES_EXCLUDED', total: 1, note: sent.note })
  expect(String((await getOf('report?format=csv')).body)).toContain(row.reason)
  expect((await getOf('targets?reason=excluded*')).body.map(({ mac }: { mac: string }) => mac)).toEqual([first])
  expect((await getOf('targets?status=scheduled')).body.map(({ mac }: { mac: string }) => mac)).toContain(second)
})
