import { text } from 'node:stream/consumers'
import { sql } from 'kysely'
import { beforeEach, expect, it } from 'vitest'
import { Value } from 'typebox/value'
import { parse } from 'csv-parse/sync'
import { approveOrgUpgrade } from '../../../src/upgrades/changes/approve-org-upgrade.ts'
import { cancelOrgUpgrade } from '../../../src/upgrades/changes/cancel-org-upgrade.ts'
import { readReport } from '../../../src/upgrades/reports/read-report.ts'
import { encodeReport } from '../../../src/upgrades/reports/routes.ts'
import { getReported } from '../../../src/upgrades/reports/store.ts'
import { ReportReply } from '../../../src/upgrades/reports/wire.ts'
import { readUpgradeSamples } from '../../../src/rollout/store-metrics.ts'
import { retryOrgUpgrade } from '../../../src/upgrades/changes/retry-org-upgrade.ts'
import { MODEL, NEW, type SeededDevice } from '../../support/fleets/fleet.ts'
import { useRollout } from '../harness.ts'

const rollout = useRollout()
beforeEach(() => rollout.seed([{ devices: 2, name: '=Lab' }, 1]))

async function reportOf(id: string) {
  const { ctx, org } = rollout
  const report = await readReport(ctx.db, org.scope, await getReported(ctx.db, org.scope, id))
  const json: unknown = JSON.parse(await text(encodeReport(report, 'json')))
  expect([...Value.Errors(ReportReply, json)]).toEqual([])
  const csv: Record<string, string>[] = parse(await text(encodeReport(report, 'csv')), { columns: true })
  return { json: Value.Parse(ReportReply, json), csv }
}

async function setName(device: SeededDevice | undefined, name: string): Promise<void> {
  const mac = device?.mac ?? ''
  const named = await rollout.ctx.db.updateTable('device').set({ name }).where('mac', '=', mac).execute()
  expect(named[0]?.numUpdatedRows).toBe(1n)
}

/** Makes the devices flash, and takes them down: the first for 60 s, the second for good, the third for 30 s. */
async function bringDown([first, second, third]: readonly SeededDevice[]): Promise<void> {
  if (first === undefined || second === undefined || third === undefined) throw new Error('no devices')
  const { clock, fleet } = rollout
  await rollout.advance()
  await fleet.answer(() => 'does')
  await rollout.advance()
  clock.advance(1000)
  await fleet.disconnect([first, second])
  clock.advance(30_000)
  await fleet.disconnect([third])
  clock.advance(30_000)
  await fleet.connect([first, third], NEW)
  await rollout.advance()
  clock.advance(11 * 60_000)
  await rollout.advance()
}

it('a report says for how long which devices were down, what failed why, and how many were down at once', async () => {
  rollout.clock.advance(1000)
  const devices = rollout.devices()
  const { id } = await rollout.create({ reboot_strategy: 'big_bang' })
  await bringDown(devices)
  await setName(devices[1], '=Core')
  const { json, csv } = await reportOf(id)
  const lastS = 30 + 30 + 660
  expect(json).toMatchObject({
    upgrade_id: id,
    status: 'completed',
    target_version: NEW,
    total: 3,
    upgraded: 2,
    failed: 1,
    downtime: { devices: 3, at_once: 3, still_down: 1 },
    versions: [{ from: '1.0.0', to: NEW, devices: 3 }],
    failures: [{ reason: 'no_reconnect', devices: 1 }],
    left_out: [],
    phases: [{ phase: 1, total: 3, upgraded: 2, failed: 1, under_way: 0, cancelled: 0 }],
    decisions: [{ type: 'UPGRADE_CREATED', name: rollout.org.scope.actor.name, total: 3 }],
  })
  expect(json.downtime.longest).toBeCloseTo(lastS, 1)
  expect(json.downtime.sum).toBeCloseTo(60 + lastS + 30, 1)
  const [lab, site] = json.sites
  expect(lab).toMatchObject({ site_name: '=Lab', downtime: { devices: 2, at_once: 2, still_down: 1 } })
  expect(site).toMatchObject({ status: 'completed', downtime: { devices: 1, at_once: 1, still_down: 0 } })
  expect(site?.downtime.longest).toBeCloseTo(30, 1)
  expect(json.phases[0]?.duration).toBeCloseTo(json.duration ?? 0, 5)
  expect(json.devices.map(({ mac }) => mac).toSorted()).toEqual(devices.map(({ mac }) => mac).toSorted())
  expect(json.devices.map(({ mac, name }) => [mac, name])).toContainEqual([devices[1]?.mac, '=Core'])
  expect(json.devices.filter((device) => 'name' in device)).toHaveLength(1)
  expect(csv).toHaveLength(3)
  const dead = csv.find(({ mac }) => mac === devices[1]?.mac)
  expect(dead).toMatchObject({
    name: "'=Core",
    site_name: "'=Lab",
    status: 'failed',
    reason: 'no_reconnect',
    up_at: '',
    version: NEW,
  })
  expect(dead?.['down_at']).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/)

  const [, second] = devices
  await retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id, macs: null })
  await rollout.fleet.connect([second as SeededDevice]) // bringDown() has checked it
  await rollout.play()
  const { json: after } = await reportOf(id)
  expect(after).toMatchObject({
    status: 'completed',
    upgraded: 3,
    failures: [],
    downtime: { devices: 3, still_down: 0 },
  })
  expect(after.downtime.longest).toBeCloseTo(lastS, 1)
  expect(after.decisions.map(({ type }) => type)).toEqual(['UPGRADE_CREATED', 'UPGRADE_RETRIED'])
})

it('a report counts the devices of a phase that are under way, and those that were cancelled', async () => {
  const { id } = await rollout.create({ reboot_strategy: 'canary', canary_phases: [50, 100] })
  await rollout.advance()
  const phases = async () => (await reportOf(id)).json.phases
  const counts = { total: 2, upgraded: 0, failed: 0, cancelled: 0 }
  expect(await phases()).toMatchObject([
    { ...counts, under_way: 2 },
    { ...counts, total: 1, under_way: 0 },
  ])
  await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  await rollout.play()
  const [first, second] = await phases()
  expect(second).toMatchObject({ ...counts, total: 1, under_way: 0, cancelled: 1 })
  expect(first).toMatchObject({ total: 2, under_way: 0 })
})

it('a report says when phases opened and ended, and who opened them', async () => {
  const { id } = await rollout.create({
    reboot_strategy: 'canary',
    canary_phases: [30, 100],
    phase_gates: [{ phase: 1, wait_for: 'approval' }],
  })
  await rollout.play()
  const { json: running } = await reportOf(id)
  expect(running).toMatchObject({
    status: 'running',
    phases: [
      { total: 1, upgraded: 1, gate: { min_upgraded: 1, wait_for: 'approval', passed: false } },
      { total: 2, upgraded: 0 },
    ],
    // 5 % of three devices: not even one may fail.
    stops_after_failures: 1,
  })
  expect(running.phases[1]).not.toHaveProperty('gate')
  expect(running).not.toHaveProperty('ended_at')
  rollout.clock.advance(60_000)
  await approveOrgUpgrade(rollout.ctx, rollout.org.scope, { id, phase: 1, note: 'Looks good' })
  await rollout.play()
  const { json } = await reportOf(id)
  const [first, second] = json.phases
  expect(second).not.toHaveProperty('gate')
  expect(second?.opened_at).toBeGreaterThanOrEqual((first?.ended_at ?? Infinity) + 60)
  expect(first?.gate).toMatchObject({
    wait_for: 'approval',
    passed: true,
    opened_by: { by: 'approval', name: rollout.org.scope.actor.name, note: 'Looks good' },
  })
  expect(json.decisions.map(({ type, note }) => [type, note])).toEqual([
    ['UPGRADE_CREATED', undefined],
    ['UPGRADE_HELD', undefined],
    ['UPGRADE_APPROVED', 'Looks good'],
  ])
})

it('a report says how many failures stop the upgrade, by the budget or the percentage', async () => {
  const stopsAfter = async (body: Parameters<typeof rollout.create>[0]) => {
    const { id } = await rollout.create({ ...body, supersede: true })
    return (await reportOf(id)).json.stops_after_failures
  }
  const canary = { strategy: 'canary' as const, canary_phases: [50, 100], max_failure_percentage: 50 }
  expect(await stopsAfter(canary)).toBe(2)
  expect(await stopsAfter({ ...canary, failure_budget: 0 })).toBe(1)
  expect(await stopsAfter({ strategy: 'big_bang' })).toBeNull()
})

it('a report of an upgrade that was stopped and retried counts no gate as passed whose next phase never opened', async () => {
  const canary = { reboot_strategy: 'canary' as const, canary_phases: [30, 60, 100], max_failures: [0, 0, 0] }
  const { id } = await rollout.create(canary)
  const passed = async () => (await reportOf(id)).json.phases.map(({ gate }) => gate?.passed)
  await rollout.play(() => 'refuses_content')
  expect(await passed()).toEqual([false, false, undefined])
  // A retry continues with all phases open, so that devices of each one may be retried.
  await retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id, macs: null })
  expect(await passed()).toEqual([false, false, undefined])
  await rollout.play(() => 'refuses_content')
  const { json } = await reportOf(id)
  expect(json).toMatchObject({ status: 'failed', failed: 1, cancelled: 2 })
  // More failures in the last phase would stop the upgrade as well.
  expect(json.phases.map(({ gate }) => gate?.max_failures)).toEqual([0, 0, 0])
  expect(await passed()).toEqual([false, false, undefined])
})

it('a report of a retried upgrade counts the gate as passed behind which no phase has devices', async () => {
  const [first] = rollout.devices()
  const rules = [{ match_name: 'one' }]
  await setName(first, 'one')
  const { id } = await rollout.create({ reboot_strategy: 'canary', rules, max_failure_percentage: 100 })
  await rollout.play(() => 'refuses_content')
  await retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id, macs: null })
  await rollout.play()
  const { json } = await reportOf(id)
  expect(json).toMatchObject({ status: 'completed', total: 1, upgraded: 1 })
  expect(json.phases.map(({ gate }) => gate?.passed)).toEqual([true])
})

it('a report has the names and models of devices that were left out', async () => {
  const { id } = await rollout.create({ reboot_strategy: 'big_bang' })
  const elsewhere = rollout.devices().at(-1)
  await setName(elsewhere, 'Lobby')
  const notes = JSON.stringify([elsewhere?.mac, '00000000ffff'].map((mac) => ({ mac, reason: 'no image' })))
  await sql`update site_upgrade set notes = ${notes} where not exists (
    select from upgrade_target where upgrade_id = site_upgrade.id and mac = ${elsewhere?.mac})`.execute(rollout.ctx.db)
  const leftOut = (await reportOf(id)).csv.filter(({ status }) => status === 'left_out')
  expect(leftOut.map(({ mac, name, model }) => [mac, name, model])).toEqual([
    [elsewhere?.mac, 'Lobby', MODEL],
    ['00000000ffff', '', ''],
  ])
})

it('a report of thousands of devices names each of them once, read in parts', async () => {
  const { id } = await rollout.create({ reboot_strategy: 'big_bang' })
  const { db } = rollout.ctx
  await sql`
    insert into upgrade_target (org_id, upgrade_id, device_id, mac, model, phase, ordinal, image_id, target_version, force,
      state, entered_at)
    select t.org_id, t.upgrade_id, ('00000000-0000-0000-1000-' || lpad(to_hex(1000000 + n), 12, '0'))::uuid,
      lpad(to_hex(1000000 + n), 12, '0'), t.model, 1, n, t.image_id, t.target_version, false, 'failed', t.entered_at
    from (select distinct on (upgrade_id) * from upgrade_target order by upgrade_id, device_id) t
    cross join generate_series(1, 1500) n`.execute(db)
  await sql`update site_upgrade set total = total + 1500, notes = '[{"mac": "00000000ffff", "reason": "no image"}]'`.execute(
    db,
  )
  const { json, csv } = await reportOf(id)
  const found = new Set(json.devices.map(({ mac, site_id: siteId }) => `${siteId} ${mac}`))
  expect(json.devices).toHaveLength(json.total + 2)
  expect(found.size).toBe(json.devices.length)
  expect(json.left_out).toEqual([{ reason: 'no image', devices: 2 }])
  expect(csv.filter(({ status }) => status === 'left_out')).toHaveLength(2)
})

it('the metrics count devices by result and cause, and how long they were down', async () => {
  await rollout.create({ reboot_strategy: 'big_bang' })
  await rollout.advance()
  await rollout.fleet.answer(() => 'refuses')
  await rollout.advance()
  rollout.clock.advance(31_000)
  await bringDown(rollout.devices())
  await rollout.create({
    reboot_strategy: 'big_bang',
    start_time: Math.floor(rollout.clock.now().getTime() / 1000) + 3600,
  })
  const lines = rollout.ctx.metrics.encode(await readUpgradeSamples(rollout.ctx.db)).split('\n')
  const expected = [
    'signalbox_upgrade_devices_ended_total{result="upgraded"} 2',
    'signalbox_upgrade_devices_failed_total{cause="no_reconnect"} 1',
    'signalbox_upgrade_attempts_failed_total{cause="refused"} 3',
    'signalbox_upgrade_device_down_seconds_bucket{le="30"} 1',
    'signalbox_upgrade_device_down_seconds_count 2',
    'signalbox_upgrade_device_step_seconds_count{state="rebooting"} 3',
    'signalbox_upgrade_site_phase_seconds_count 2',
    'signalbox_upgrade_sites_ended_total{status="completed"} 2',
  ]
  expect(lines).toEqual(expect.arrayContaining(expected))
  expect(lines.filter((line) => line.startsWith('signalbox_upgrade_sites_running'))).toEqual([
    'signalbox_upgrade_sites_running{status="queued",held="false"} 1',
  ])
})
