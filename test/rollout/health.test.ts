// Devices have to be as healthy after their upgrade as before, as the engine carries it out.
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { upsertReports } from '../../src/devices/telemetry/store-reports.ts'
import type { Telemetry } from '../../src/devices/telemetry/telemetry.ts'
import { inTx } from '../../src/platform/database/db.ts'
import { readReport } from '../../src/upgrades/reports/read-report.ts'
import { encodeReport } from '../../src/upgrades/reports/routes.ts'
import { getReported } from '../../src/upgrades/reports/store.ts'
import { retryOrgUpgrade } from '../../src/upgrades/changes/retry-org-upgrade.ts'
import { getUpgradeTarget } from '../../src/upgrades/targets/store.ts'
import { presentUpgradeTargetDetail } from '../../src/upgrades/targets/wire.ts'
import { NEW, OLD, type SeededDevice } from '../support/fleets/fleet.ts'
import { expectConsistent } from './expect-consistent.ts'
import { countAll, options, useRollout } from './harness.ts'

const rollout = useRollout()
const MINUTE_MS = 60_000

const radio = { channel: 1, bssids: [], num_clients: 0, num_wlans: 1 }
const healthy: Telemetry = {
  unit: { num_clients: 10 },
  radios: [
    { band: '24', ...radio },
    { band: '5', ...radio },
  ],
  ports: [
    { id: 'eth0', up: true, uplink: true },
    { id: 'eth1', up: false },
  ],
  interfaces: [],
  neighbors: [
    { port: 'eth0', mac: '0a0000000001', forwards: true, mgmt_addrs: [] },
    { port: 'eth1', mac: '0a0000000002', forwards: false, mgmt_addrs: [] },
  ],
  wireless: [],
  wired: [],
}

async function report(devices: readonly SeededDevice[], telemetry: Partial<Telemetry> = {}): Promise<void> {
  const { ctx, org } = rollout
  const now = ctx.clock.now()
  const bucket = { at: 0, samples: 1 } as never
  const sessions = await ctx.db.selectFrom('deviceSession').select(['deviceId', 'epoch']).execute()
  const epochs = new Map(sessions.map(({ deviceId, epoch }) => [deviceId, epoch]))
  const rows = devices.map(({ id }) => {
    const key = { orgId: org.scope.orgId, deviceId: id, siteId: null, epoch: epochs.get(id) ?? '' }
    return { ...key, bucket, telemetry: { ...healthy, ...telemetry } }
  })
  await inTx(ctx, (tx) => upsertReports(tx, rows, { at: now, atMs: ctx.serviceClock.nowMs() }))
}

const reasons = async (): Promise<Record<string, string | null>> => {
  const rows = await rollout.ctx.db.selectFrom('upgradeTarget').select(['mac', 'reason']).execute()
  return Object.fromEntries(rows.map(({ mac, reason }) => [mac, reason]))
}

it('devices that return with all they had are upgraded, and the others fail with what they lack', async () => {
  const devices = await rollout.seed([5])
  const [fine, deaf, silent, lonely, unknown] = devices as [
    SeededDevice,
    SeededDevice,
    SeededDevice,
    SeededDevice,
    SeededDevice,
  ]
  await report([fine, deaf, silent, lonely])
  const { id, siteUpgrades } = await rollout.create({
    strategy: 'big_bang',
    check_health: true,
  })
  expect(siteUpgrades[0]?.notes).toEqual([
    { mac: unknown.mac, reason: 'does not report how it is: its health is not compared' },
  ])
  await rollout.play()
  expect(countAll(await rollout.read(id))).toEqual({ verifying: 4, upgraded: 1 })
  await report([fine])
  await report([deaf], { radios: [] })
  await report([lonely], { unit: { num_clients: 4 } })
  await rollout.advance()
  expect(countAll(await rollout.read(id))).toEqual({ verifying: 3, upgraded: 2 })
  rollout.clock.advance(11 * MINUTE_MS)
  await report([lonely], { unit: { num_clients: 4 } })
  await rollout.advance()
  // The service is listening, so the whole time counts.
  rollout.clock.advance(options.verifyTimeoutMs)
  await rollout.advance()
  expect(await reasons()).toEqual({
    [fine.mac]: null,
    [unknown.mac]: null,
    [deaf.mac]: 'health_radio',
    [silent.mac]: 'health_unknown',
    [lonely.mac]: 'health_clients',
  })
  expect(rollout.ctx.metrics.encode([])).toContain('signalbox_upgrade_devices_failed_total{cause="health"} 3\n')
  const detail = await getUpgradeTarget(rollout.ctx.db, rollout.org.scope, { id, mac: deaf.mac })
  expect(presentUpgradeTargetDetail(detail)).toMatchObject({
    baseline: { uplinks: ['eth0'], neighbors: ['0a0000000001'], radios: ['24', '5'], clients: 10 },
  })
  await expectConsistent(rollout.ctx)
})

it('a device that is restored for its health was down twice, and not in between', async () => {
  const capabilities = { commands: ['upgrade', 'restore_backup'], restart_members: [], restart_nodes: [] } as const
  const [device] = await rollout.seed([{ devices: 1, capabilities: { ...capabilities, backup_version: OLD } }])
  if (device === undefined) throw new Error('no device')
  const { ctx, org, clock, fleet } = rollout
  await report([device])
  const more = { check_health: true, rollback_on_failure: true, max_failure_percentage: 100 }
  const { id } = await rollout.create({ strategy: 'big_bang', ...more })
  const reportsOf = async () => {
    const upgrade = await readReport(ctx.db, org.scope, await getReported(ctx.db, org.scope, id))
    const { downtime, devices } = JSON.parse(await text(encodeReport(upgrade, 'json')))
    // The statements of a round take some milliseconds.
    const times = [downtime.longest, downtime.sum, devices[0].downtime ?? 0].map((seconds) => Math.round(seconds))
    return [downtime.devices, downtime.at_once, downtime.still_down, ...times]
  }
  async function rebootFor(downMs: number, version: string): Promise<void> {
    await rollout.advance()
    await fleet.answer(() => 'does')
    await rollout.advance()
    await fleet.disconnect([device as SeededDevice])
    clock.advance(downMs)
    await fleet.connect([device as SeededDevice], version)
    await rollout.advance()
  }
  await rebootFor(60_000, NEW)
  await report([device], { radios: [] })
  clock.advance(options.verifyTimeoutMs + options.soakMs)
  await rollout.advance()
  expect(countAll(await rollout.read(id))).toEqual({ rolling_back: 1 })
  // The first request is lost: the device reboots with the version that it is to leave.
  await rollout.advance()
  await fleet.answer(() => 'silent')
  await fleet.markSessionsLost()
  clock.advance(20_000)
  await fleet.connect([device], NEW)
  await rollout.advance()
  await rebootFor(30_000, OLD)
  clock.advance(options.soakMs)
  await rollout.advance()
  expect(await reasons()).toEqual({ [device.mac]: 'rolled_back' })
  expect(await reportsOf()).toEqual([1, 1, 0, 60, 110, 110])
  // The earlier run still counts.
  await retryOrgUpgrade(ctx, org.scope, { id, macs: null })
  expect(await reportsOf()).toEqual([1, 1, 0, 60, 110, 0])
  await expectConsistent(ctx)
})

it('a comparison that no device can take part in is refused', async () => {
  const devices = await rollout.seed([2])
  await expect(rollout.create({ check_health: true })).rejects.toThrow(
    'check_health: is true, but none of the 2 devices reports its ports, radios and clients, for example ',
  )
  await report(devices.slice(0, 1))
  expect((await rollout.create({ check_health: true })).siteUpgrades).toHaveLength(1)
})

it('a report over the connection before the reboot is not evidence, even in the millisecond of the next connection', async () => {
  const [device] = await rollout.seed([1])
  if (device === undefined) throw new Error('no device')
  await report([device])
  const { id } = await rollout.create({ strategy: 'big_bang', check_health: true })
  await rollout.play()
  expect(countAll(await rollout.read(id))).toEqual({ verifying: 1 })
  // The report is recorded late, when the device has connected again.
  await report([device])
  await rollout.fleet.connect([device], NEW)
  const later = rollout.ctx.serviceClock.nowMs() + 1
  await rollout.ctx.db.updateTable('deviceReport').set({ reportedMs: later }).execute()
  rollout.clock.advance(options.soakMs + 1000)
  await rollout.advance()
  expect(countAll(await rollout.read(id))).toEqual({ verifying: 1 })
  await report([device])
  await rollout.advance()
  expect(countAll(await rollout.read(id))).toEqual({ upgraded: 1 })
})
