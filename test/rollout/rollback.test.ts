// Failed devices return to their backup version, as the engine carries it out.
import { text } from 'node:stream/consumers'
import { parse } from 'csv-parse/sync'
import { beforeEach, describe, expect, it } from 'vitest'
import { cancelOrgUpgrade } from '../../src/upgrades/changes/cancel-org-upgrade.ts'
import type { OrgUpgrade } from '../../src/upgrades/org-upgrade.ts'
import { pauseOrgUpgrade } from '../../src/upgrades/changes/pause-org-upgrade.ts'
import { retryOrgUpgrade } from '../../src/upgrades/changes/retry-org-upgrade.ts'
import { readReport } from '../../src/upgrades/reports/read-report.ts'
import { encodeReport } from '../../src/upgrades/reports/routes.ts'
import { getReported } from '../../src/upgrades/reports/store.ts'
import { getUpgradeTarget } from '../../src/upgrades/targets/store.ts'
import { presentOrgUpgrade } from '../../src/upgrades/wire.ts'
import { presentUpgradeTarget, presentUpgradeTargetDetail } from '../../src/upgrades/targets/wire.ts'
import { NEW, OLD, type SeededDevice } from '../support/fleets/fleet.ts'
import { expectConsistent } from './expect-consistent.ts'
import { countAll, options, useRollout } from './harness.ts'
import { subscribe } from './subscribe.ts'

const rollout = useRollout()

const capabilities = {
  commands: ['upgrade', 'restore_backup'],
  restart_members: [],
  restart_nodes: [],
  backup_version: OLD,
} as const

async function advanceBy(ms: number): Promise<void> {
  rollout.clock.advance(ms)
  await rollout.advance()
  await expectConsistent(rollout.ctx)
}

async function commandsOf({ id }: SeededDevice) {
  return rollout.ctx.db
    .selectFrom('deviceCommand')
    .select(['kind', 'params', 'attempt', 'state'])
    .where('deviceId', '=', id)
    .orderBy('attempt')
    .execute()
}

async function eventsOf({ id }: SeededDevice): Promise<string[]> {
  const rows = await rollout.ctx.db
    .selectFrom('deviceEvent')
    .select(['type', 'event'])
    .where('deviceId', '=', id)
    .orderBy('id')
    .execute()
  return rows.flatMap(({ type, event }) =>
    type.includes('UPGRADE') ? [`${type} ${String(event['text'] ?? event['reason'])}`] : [],
  )
}

/** The types of the events of devices that webhooks get. */
async function deviceEventTypes(): Promise<string[]> {
  const query = rollout.ctx.db.selectFrom('webhookOutbox').select('event').where('topic', '=', 'upgrade-events')
  const types = (await query.orderBy('id').execute()).map(({ event }) => String(event?.['type']))
  return types.filter((type) => type.startsWith('UPGRADE_DEVICE_'))
}

it('returns a device that comes back late to its backup version, once, and counts it as failed meanwhile', async () => {
  const [device, ...others] = await rollout.seed([{ devices: 3, capabilities }])
  if (device === undefined) throw new Error('no device')
  const { id } = await rollout.create({
    strategy: 'canary',
    canary_phases: [100],
    rollback_on_failure: true,
    max_failure_percentage: 50,
  })
  await rollout.play((one) => (one.id === device.id ? 'dies' : 'upgrades'))
  await advanceBy(options.rebootTimeoutMs.ap + options.reconnectGraceMs)
  const failed = await rollout.ctx.db.selectFrom('orgUpgrade').select('hardFailures').executeTakeFirstOrThrow()
  expect([countAll(await rollout.read(id)), failed.hardFailures]).toEqual([{ upgraded: 2, rolling_back: 1 }, 1])
  await rollout.fleet.connect([device], NEW)
  // However often the engine looks, and though it crashes, the restore is requested once.
  for (let round = 0; round < 3; round += 1) await advanceBy(1000)
  expect(await commandsOf(device)).toMatchObject([
    { kind: 'upgrade', attempt: 1 },
    { kind: 'restore_backup', attempt: 2, params: { version: OLD } },
  ])
  const targetOf = () => getUpgradeTarget(rollout.ctx.db, rollout.org.scope, { id, mac: device.mac })
  expect(await targetOf()).toMatchObject({ state: 'rolling_back', reason: 'no_reconnect', restoreReason: null })
  await rollout.fleet.answer(() => 'keeps_old')
  await advanceBy(1000)
  expect((await rollout.read(id)).siteUpgrades).toMatchObject([
    { status: 'completed', failures: [{ mac: device.mac, reason: 'rolled_back' }] },
  ])
  expect(await targetOf()).toMatchObject({ state: 'failed', reason: 'rolled_back', restoreReason: 'no_reconnect' })
  expect(await commandsOf(device)).toHaveLength(2)
  expect(
    (await rollout.ctx.db.selectFrom('orgUpgrade').select('hardFailures').executeTakeFirstOrThrow()).hardFailures,
  ).toBe(1)
  expect(await eventsOf(device)).toEqual([
    `AP_UPGRADE_BY_USER to ${NEW}`,
    'AP_UPGRADE_FAILED returns to its backup version',
    `AP_UPGRADED Restored the backup version ${OLD}`,
  ])
  expect(others.map((one) => rollout.fleet.attempts.get(one.id))).toEqual([1, 1])
  // A device that works again may try again.
  await retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id, macs: [device.mac] })
  await expectConsistent(rollout.ctx)
  expect(
    (await rollout.ctx.db.selectFrom('orgUpgrade').select('hardFailures').executeTakeFirstOrThrow()).hardFailures,
  ).toBe(0)
  const runsOf = async () => presentUpgradeTargetDetail(await targetOf()).runs
  const restored = { reason: 'rolled_back', restore_reason: 'no_reconnect' }
  expect(await runsOf()).toMatchObject([{ run: 1, ...restored }])
  // It fails once more, in another way, and is retried once more.
  await rollout.play(() => 'refuses_content')
  await retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id, macs: [device.mac] })
  await rollout.play()
  expect(countAll(await rollout.read(id))).toEqual({ upgraded: 3 })
  const [first, second] = await runsOf()
  expect([first, second]).toMatchObject([restored, { reason: 'Invalid signature' }])
  expect(second).not.toHaveProperty('restore_reason')
})

it('restores a device while the upgrade is paused, outside of its windows, and after somebody cancelled it', async () => {
  const [device] = await rollout.seed([{ devices: 2, capabilities }])
  await subscribe(rollout)
  if (device === undefined) throw new Error('no device')
  const { ctx, org, clock } = rollout
  const { id } = await rollout.create({
    strategy: 'serial',
    rollback_on_failure: true,
    max_failure_percentage: 100,
    maintenance_windows: [{ start: '12:00', end: '12:15' }],
  })
  await rollout.play(() => 'dies')
  const downAt = clock.now()
  await advanceBy(options.rebootTimeoutMs.ap + options.reconnectGraceMs)
  expect(countAll(await rollout.read(id))).toEqual({ rolling_back: 1, planned: 1 })
  await pauseOrgUpgrade(ctx, org.scope, id)
  const failing = rollout.devices().find((one) => rollout.fleet.attempts.has(one.id))
  if (failing === undefined) throw new Error('no device was commanded')
  await rollout.fleet.connect([failing], NEW)
  await advanceBy(1000)
  expect((await commandsOf(failing)).map(({ kind }) => kind)).toEqual(['upgrade', 'restore_backup'])
  // Restores that were not sent when the upgrade is cancelled are requested again.
  await cancelOrgUpgrade(ctx, org.scope, id)
  await advanceBy(1000)
  await rollout.fleet.answer(() => 'keeps_old')
  const upAt = clock.now()
  await advanceBy(1000)
  const kinds = (await commandsOf(failing)).map(({ kind, state }) => `${kind} ${state}`)
  expect(kinds).toEqual(['upgrade done', 'restore_backup cancelled', 'restore_backup done'])
  const { siteUpgrades } = await rollout.read(id)
  expect(siteUpgrades).toMatchObject([{ status: 'cancelled', failures: [{ reason: 'rolled_back' }] }])
  expect(countAll(await rollout.read(id))).toEqual({ failed: 1, cancelled: 1 })
  const target = await getUpgradeTarget(ctx.db, org.scope, { id, mac: failing.mac })
  expect(target.steps.map(({ state }) => state).slice(-3)).toEqual(['rolling_back', 'rolling_back', 'failed'])
  // People lacked it from the first reboot to the return with the backup version.
  expect(target.downAt?.getTime()).toBeLessThanOrEqual(downAt.getTime())
  expect(target.upAt).toEqual(upAt)
  expect(await deviceEventTypes()).toEqual([
    'UPGRADE_DEVICE_STARTED',
    'UPGRADE_DEVICE_REBOOTING',
    'UPGRADE_DEVICE_RESTORING',
    'UPGRADE_DEVICE_CANCELLED',
    'UPGRADE_DEVICE_FAILED',
  ])
})

it('restores a device although the upgrade was stopped by its failure, also after the answer was lost', async () => {
  const [device] = await rollout.seed([{ devices: 2, capabilities }])
  if (device === undefined) throw new Error('no device')
  const { id } = await rollout.create({ strategy: 'serial', max_failure_percentage: 0, rollback_on_failure: true })
  await rollout.play(() => 'dies')
  await advanceBy(options.rebootTimeoutMs.ap + options.reconnectGraceMs)
  await advanceBy(1000)
  expect(countAll(await rollout.read(id))).toEqual({ rolling_back: 1, cancelled: 1 })
  const failing = rollout.devices().find((one) => rollout.fleet.attempts.has(one.id))
  if (failing === undefined) throw new Error('no device was commanded')
  await rollout.fleet.connect([failing], NEW)
  await advanceBy(1000)
  await rollout.fleet.answer(() => 'silent')
  await rollout.fleet.markSessionsLost()
  await rollout.fleet.connect([failing], OLD)
  await advanceBy(1000)
  expect((await commandsOf(failing)).map(({ kind }) => kind)).toEqual(['upgrade', 'restore_backup'])
  expect((await rollout.read(id)).siteUpgrades).toMatchObject([
    { status: 'failed', failures: [{ reason: 'rolled_back' }] },
  ])
})

it('reports a device that falls off again with its backup version, and restores it no further', async () => {
  const [device] = await rollout.seed([{ devices: 1, capabilities }])
  if (device === undefined) throw new Error('no device')
  const { id } = await rollout.create({ strategy: 'big_bang', rollback_on_failure: true })
  await rollout.play(() => 'dies')
  await advanceBy(options.rebootTimeoutMs.ap + options.reconnectGraceMs)
  await rollout.fleet.connect([device], NEW)
  await advanceBy(1000)
  await rollout.fleet.answer(() => 'keeps_old')
  await rollout.fleet.disconnect([device])
  await advanceBy(1000)
  expect(countAll(await rollout.read(id))).toEqual({ rolling_back: 1 })
  const targetOf = () => getUpgradeTarget(rollout.ctx.db, rollout.org.scope, { id, mac: device.mac })
  const observed = { status: 'reboot_in_progress', reason: 'no_reconnect', restoring: true }
  expect(presentUpgradeTarget(await targetOf())).toMatchObject(observed)
  const report = await readReport(
    rollout.ctx.db,
    rollout.org.scope,
    await getReported(rollout.ctx.db, rollout.org.scope, id),
  )
  const lines = parse(await text(encodeReport(report, 'csv')), { columns: true })
  expect(lines).toMatchObject([{ ...observed, restoring: 'true' }])
  expect(JSON.parse(await text(encodeReport(report, 'json')))).toMatchObject({ devices: [observed] })
  const notesOf = async () => presentOrgUpgrade(await rollout.read(id)).upgrades.flatMap(({ upgrade }) => upgrade.notes)
  expect(await notesOf()).toEqual([{ mac: device.mac, reason: 'being restored: no_reconnect' }])
  await advanceBy(options.rollbackMs)
  const target = await targetOf()
  expect(presentUpgradeTarget(target)).not.toHaveProperty('restoring')
  expect(await notesOf()).toEqual([{ mac: device.mac, reason: 'failed: rolled_back_unstable' }])
  expect(target).toMatchObject({ state: 'failed', reason: 'rolled_back_unstable', restoreReason: 'no_reconnect' })
  expect(target.steps.at(-1)).toMatchObject({ state: 'failed', reason: 'rolled_back_unstable' })
  expect((await commandsOf(device)).map(({ kind }) => kind)).toEqual(['upgrade', 'restore_backup'])
  expect((await eventsOf(device)).at(-1)).toBe('AP_UPGRADE_FAILED rolled_back_unstable')
})

describe('a device that is being restored from the version that another upgrade requests', () => {
  const notesOf = ({ siteUpgrades }: OrgUpgrade) =>
    siteUpgrades.flatMap(({ notes }) => notes.map(({ reason }) => reason))
  let device: SeededDevice
  let old: string

  beforeEach(async () => {
    const [first] = await rollout.seed([{ devices: 1, capabilities }])
    if (first === undefined) throw new Error('no device')
    device = first
    old = (await rollout.create({ rollback_on_failure: true, max_failure_percentage: 100, strategy: 'big_bang' })).id
    await rollout.play(() => 'dies')
    await advanceBy(options.rebootTimeoutMs.ap + options.reconnectGraceMs)
    await rollout.fleet.connect([device], NEW)
    await advanceBy(1000)
    expect((await commandsOf(device)).map(({ kind }) => kind)).toEqual(['upgrade', 'restore_backup'])
  })

  it('is left out as one that another upgrade has', async () => {
    const young = await rollout.create({ versions: [NEW] })
    expect([countAll(young), notesOf(young)]).toEqual([{}, [expect.stringMatching(/^in upgrade /)]])
    const forceful = await rollout.create({ versions: [NEW], supersede: true })
    expect([countAll(forceful), notesOf(forceful)]).toEqual([
      {},
      [expect.stringMatching(/^in upgrade .+, which has begun with it$/)],
    ])
    await rollout.fleet.answer(() => 'keeps_old')
    await advanceBy(1000)
    expect(countAll(await rollout.read(old))).toEqual({ failed: 1 })
  })

  it('ends at once if it accepts the restore, and boots with the version once more', async () => {
    await advanceBy(60_000)
    await rollout.fleet.answer(() => 'upgrades')
    await advanceBy(1000)
    expect((await rollout.read(old)).siteUpgrades).toMatchObject([{ failures: [{ reason: 'rollback_failed' }] }])
  })

  it('is right for an upgrade to the version to which it has just returned', async () => {
    await rollout.fleet.answer(() => 'keeps_old')
    const keeping = await rollout.create({ versions: [OLD] })
    expect([countAll(keeping), notesOf(keeping)]).toEqual([{ skipped: 1 }, []])
    await advanceBy(1000)
    expect(countAll(await rollout.read(old))).toEqual({ failed: 1 })
  })
})
