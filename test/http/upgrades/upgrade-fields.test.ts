import { DateTime } from 'luxon'
import { describe, expect, it } from 'vitest'
import { NEW, OLD } from '../../support/fleets/fleet.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { createUpgradesHarness } from './upgrades-harness.ts'

const harness = createUpgradesHarness()
const { post, targets, siteUpgrades, rowsLeft, macsOf, siteId } = harness

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

  it('has an end in the plans of its sites, a preview that may exceed it, and the report', async () => {
    const end = { all_sites: true, version: NEW, end_time: 4_000_000_000 }
    const { body: plan } = await post({ ...end, dry_run: true })
    expect(plan.notes).toEqual([])
    const late = { ...end, start_time: 3_999_999_900, dry_run: true }
    expect((await post(late)).body.notes).toMatchObject([{ reason: expect.stringContaining('its end_time, 2096-') }])
    const { body } = await post({ plan_id: plan.plan_id })
    expect(await siteUpgrades()).toMatchObject([
      { plan: { ends_s: 4_000_000_000 } },
      { plan: { ends_s: 4_000_000_000 } },
    ])
    expect((await harness.get(`/${body.id}/report`)).body).toMatchObject({ end_time: 4_000_000_000 })
    const { body: endless } = await post({ all_sites: true, version: NEW, end_time: 0 })
    expect((await harness.get(`/${endless.id}/report`)).body.end_time).toBeUndefined()
  })

  it('notes a percentage of failures that has no effect, once', async () => {
    const reason = 'max_failure_percentage has no effect with the strategy big_bang'
    const { body } = await post({ all_sites: true, max_failure_percentage: 20 })
    expect(body.notes).toEqual([{ reason }])
    const apart = { download_strategy: 'canary', reboot_strategy: 'canary', reboot_at: 4_000_000_000 }
    const limited = await post({ all_sites: true, ...apart, max_failures: [0, 0, 0, 0], max_failure_percentage: 20 })
    expect(limited.body.notes).toEqual([{ reason: 'max_failure_percentage has no effect with max_failures' }])
  })

  it('shows the strategy of the reboots, big_bang, where only that of the downloads is sent', async () => {
    const { body } = await post({ all_sites: true, download_strategy: 'canary', canary_phases: [40] })
    expect(body).toMatchObject({ strategy: 'big_bang', notes: [{ reason: expect.stringContaining('canary') }] })
    expect((await targets()).map(({ phase }) => phase)).toEqual(expect.arrayContaining([1, 2]))
  })

  it('says that devices download and reboot in one step, where other phases were asked for their downloads', async () => {
    const { body } = await post({ all_sites: true, download_strategy: 'canary', reboot_strategy: 'serial' })
    const reason = '5 of the 5 devices download and reboot in one step, in the phases of the reboot_strategy serial'
    expect(body).toMatchObject({ strategy: 'serial', notes: [{ reason }] })
  })

  it('lets so many devices of a site download at once as are in the batches of peer-to-peer downloads', async () => {
    const { body } = await post({ all_sites: true, enable_p2p: true, p2p_cluster_size: 2, p2p_parallelism: 1 })
    expect(body).toMatchObject({ enable_p2p: true })
    const notes = body.upgrades.map(({ upgrade }: AnyJson) => upgrade.notes)
    expect(notes).toContainEqual([{ reason: expect.stringContaining('at most 2 devices at once') }])
    expect((await siteUpgrades()).map(({ plan }) => plan.max_downloads)).toContain(2)
    const unused = await post({ all_sites: true, p2p_cluster_size: 2 })
    expect(unused.body.notes).toEqual([{ reason: expect.stringContaining('no effect without enable_p2p') }])
  })

  it('upgrades groups of sites and of devices one after the other, as the preview shows', async () => {
    const group = '11111111-1111-4111-8111-111111111111'
    const path = `/sites/${siteId(1)}`
    const put = await harness.server.call('PUT', path, { body: { sitegroup_ids: [group] }, as: harness.admin })
    expect(put.status).toBe(200)
    const canary_groups = [{ sitegroup_ids: [group] }, { rules: [{ match_model: 'AP45' }], site_ids: [siteId(0)] }]
    const { body: plan } = await post({ all_sites: true, strategy: 'canary', canary_groups, dry_run: true })
    expect(plan.phases.map(({ total }: AnyJson) => total)).toEqual([2, 3, 0])
    await post({ plan_id: plan.plan_id })
    const phasesOf = async (site: number) =>
      (await targets()).flatMap(({ mac, phase }) => (macsOf(site).includes(mac) ? [phase] : []))
    expect([await phasesOf(0), await phasesOf(1)]).toEqual([
      [2, 2, 2],
      [1, 1],
    ])
  })

  it('takes canary phases as shares of each site where phase_scope says so', async () => {
    await post({ all_sites: true, strategy: 'canary', canary_phases: [40], phase_scope: 'site' })
    expect(await siteUpgrades()).toMatchObject([{ plan: { phase_sizes: [2, 1] } }, { plan: { phase_sizes: [1, 1] } }])
  })

  it.each([
    [{ enable_p2p: true, device_type: 'switch' }, 'enable_p2p', 'none of the 2 devices is one, for example '],
    [{ rollback_on_failure: true }, 'rollback_on_failure', 'none of the 5 devices can restore its backup version'],
    [{ snapshot: true }, 'snapshot', 'none of the 5 devices can take a recovery snapshot'],
    [{ strategy: 'rrm' }, 'strategy', '2 of the devices are of another type, for example '],
    [{ reboot_strategy: 'rrm' }, 'reboot_strategy', 'for devices of the type ap only'],
    [{ download_strategy: 'rrm' }, 'download_strategy', ''],
    [{ rrm_slow_ramp: true }, 'rrm_slow_ramp', 'for the strategy rrm only'],
    [{ rrm_max_batch_percentage: 50 }, 'rrm_max_batch_percentage', 'for the strategy rrm only'],
    [{ rrm_node_order: 'center_to_fringe' }, 'rrm_node_order', 'for the strategy rrm only'],
    [{ strategy: 'canary', canary_groups: [{ rules: [{ match_role: 'lab' }] }] }, 'canary_groups.0', 'none of the 5'],
    [{ strategy: 'fast' }, 'strategy', ''],
    [{ canary_phases: [10, 20, 20] }, 'canary_phases', 'must rise'],
    [{ canary_phases: [50, 40] }, 'canary_phases', 'must rise'],
    [{ canary_phases: [0, 100] }, 'canary_phases.0', ''],
    [{ strategy: 'serial', canary_phases: [10, 100] }, 'canary_phases', 'for the strategy canary only'],
    [{ strategy: 'big_bang', phase_scope: 'site' }, 'phase_scope', 'for the strategy canary only'],
    [{ strategy: 'canary', phase_scope: 'region' }, 'phase_scope', 'must be one of org, site'],
    [{ device_type: 'router' }, 'device_type', 'must be one of ap, gateway, switch'],
    [{ strategy: 'rrm', rrm_mesh_upgrade: 'all' }, 'rrm_mesh_upgrade', 'must be one of parallel, sequential'],
    [{ strategy: 'canary', max_failures: [1, 2] }, 'max_failures', 'must have 4, one for each phase'],
    [{ versions: ['9.9.9'] }, 'versions.0', 'no firmware 9.9.9'],
    [{ versions: [''] }, 'versions.0', ''],
    [{ max_failures: [1] }, 'max_failures', 'big_bang'],
    [{ strategy: 'big_bang', max_failures: [1, 2, 3, 4] }, 'max_failures', 'big_bang'],
    [{ max_failure_percentage: 101 }, 'max_failure_percentage', ''],
    [{ rules: [{ match_serial: 'x' }] }, 'rules.0.match_serial', 'is not match_name'],
    [{ rules: [{}] }, 'rules.0', 'no condition'],
    [{ versions: [{ firmware_type: 'ap' }] }, 'versions.0', 'needs a version'],
    [{ version: '9.9.9' }, 'version', 'no firmware 9.9.9'],
    [{ versions: [{ version: '9.9.9' }] }, 'versions.0', 'no firmware 9.9.9'],
    [{ versions: [{ model_version: { AP45: '9.9.9' } }] }, 'versions.0.model_version.AP45', 'no firmware 9.9.9'],
    [{ versions: [{ version: NEW }, { version: OLD }] }, 'versions.1', 'has no effect'],
    [{ versions: [{ version: NEW }, { model_version: { AP45: OLD } }] }, 'versions.1', 'has no effect'],
    [{ versions: [{ version: NEW }, OLD] }, 'versions.1', 'has no effect'],
    [
      { versions: [{ firmware_type: 'ap', version: NEW }, { firmware_type: 'junos', version: NEW }, { version: OLD }] },
      'versions.2',
      'has no effect',
    ],
    [{ version: 'beta' }, 'version', 'no firmware beta for model AP45'],
    [{ start_datetime: 'tomorrow' }, 'start_datetime', 'ISO 8601'],
    [{ start_datetime: '2027-01-01T00:00:00-99:00' }, 'start_datetime', 'ISO 8601'],
    [{ start_datetime: '2026-01-01T00:00' }, 'start_datetime', 'gone by already at Berlin (Europe/Berlin), Tokyo'],
    [{ start_datetime: '2026-01-01T00:00:00Z' }, 'start_datetime', 'more than 5 minutes ago'],
    [{ start_time: 1 }, 'start_time', '1970-01-01T00:00:01.000Z'],
    [{ reboot_datetime: '2026-01-01T00:00:00+02:00' }, 'reboot_datetime', '2025-12-31T22:00:00.000Z'],
    [{ reboot_at: 1 }, 'reboot_at', 'more than 5 minutes ago'],
    [{ start_time: 4_000_000_000, reboot_at: 3_999_999_999 }, 'reboot_at', 'before start_time, which is 2096-'],
    [{ start_time: -1 }, 'start_time', ''],
    [{ end_time: -1 }, 'end_time', ''],
    [{ end_time: 1 }, 'end_time', 'is 1970-01-01T00:00:01.000Z, but devices begin at '],
    [{ start_time: 4_000_000_000, end_time: 4_000_000_000 }, 'end_time', 'but devices begin at 2096-'],
    [{ start_time: 1.5 }, 'start_time', ''],
    [{ all_sites: 'yes' }, 'all_sites', ''],
    [{ site_ids: ['x'] }, 'site_ids.0', ''],
    [{ device_type: 'phone' }, 'device_type', ''],
    [{ models: 'AP45' }, 'models', ''],
    [{ models: [['AP45'], ['AP45', 'AP99']] }, 'models.1.1', 'AP99'],
    [{ models: ['AP99'] }, 'models.0', 'AP99'],
    [{ all_sites: false, models: ['AP99'] }, 'models.0', 'AP99'],
    [{ dry_run: 'true' }, 'dry_run', ''],
  ])('refuses %o', async (body, field, reason) => {
    const answer = await post({ all_sites: true, ...body })
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining(`Invalid field ${field}: `) } })
    expect(answer.body.reason).toContain(reason)
    expect(await rowsLeft()).toBe(0)
  })
})
