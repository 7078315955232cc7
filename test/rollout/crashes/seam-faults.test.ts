// A process that dies between two commits, in interdependent parts of an upgrade, has changed nothing, and its work is
// repeated.
import { expect, it } from 'vitest'
import { claimSiteUpgrades } from '../../../src/rollout/store.ts'
import { advanceSiteUpgrades } from '../../../src/rollout/worker.ts'
import { includeAll } from '../../../src/upgrades/include-new.worker.ts'
import { NEW, OLD, type Reply, type SeededDevice } from '../../support/fleets/fleet.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countAll, options, statusOf, useRollout } from '../harness.ts'
import { type KillSwitch, createKillSwitch } from './kill-switch.ts'

const rollout = useRollout()
const LEASE_MS = 10_000

/** From the tables that every round writes to those that few do. */
const points = ['site_upgrade', 'upgrade_target', 'org_upgrade', 'device_command', 'device_upgrade'] as const
/** The same for rounds that command devices and open no phase. */
const others = ['site_upgrade', 'upgrade_target', 'device_command', 'device_upgrade', 'org_upgrade'] as const

async function createSwitch(): Promise<KillSwitch> {
  return createKillSwitch(rollout.ctx.db, [...points, ...others, 'upgrade_event', 'device_event_row', 'audit_log'])
}

/** A round of the engine that dies at each of its writes in turn. @returns How often it died. */
async function advanceUnderFire(killer: KillSwitch, tables: readonly string[]): Promise<number> {
  const nowMs = rollout.ctx.serviceClock.nowMs()
  const due = { nowMs, dueBeforeMs: nowMs + LEASE_MS, leaseUntilMs: nowMs + LEASE_MS, limit: 10 }
  const claims = await claimSiteUpgrades(rollout.ctx.db, { ...due, changed: [], seen: [] })
  if (claims.length === 0) return 0
  const kills = await killer.killAt(tables, () => advanceSiteUpgrades(rollout.ctx, claims, options))
  await expectConsistent(rollout.ctx)
  return kills
}

/** Rounds of engine and fleet under fire until nothing is sent any more. @returns How often rounds died. */
async function playUnderFire(
  killer: KillSwitch,
  reply?: (device: SeededDevice, attempt: number) => Reply,
): Promise<number> {
  let kills = 0
  for (let quiet = 0, round = 0; quiet < 2; round += 1) {
    kills += await advanceUnderFire(killer, round % 2 === 0 ? points : others)
    quiet = (await rollout.fleet.answer(reply)) === 0 ? quiet + 1 : 0
    rollout.clock.advance(1000)
  }
  return kills
}

const commandsOf = async () => {
  const query = rollout.ctx.db.selectFrom('deviceCommand').select(['deviceId', 'kind'])
  const rows = await query.orderBy('deviceId').orderBy('attempt').execute()
  return [...Map.groupBy(rows, ({ deviceId }) => deviceId).values()].map((some) => some.map(({ kind }) => kind))
}

it('each phase of the downloads opens once, and each device downloads and reboots once', async () => {
  const capabilities = { commands: ['stage', 'activate'], restart_members: [], restart_nodes: [] } as const
  await rollout.seed([{ devices: 3, type: 'switch', model: 'EX4100', capabilities }])
  const killer = await createSwitch()
  const { id } = await rollout.create({ download_strategy: 'canary', canary_phases: [30, 60] })
  const kills = await playUnderFire(killer, (_, attempt) => (attempt === 1 ? 'does' : 'upgrades'))
  expect(kills).toBeGreaterThan(15)
  expect(countAll(await rollout.read(id))).toEqual({ upgraded: 3 })
  expect(await commandsOf()).toEqual([0, 1, 2].map(() => ['stage', 'activate']))
  const query = rollout.ctx.db.selectFrom('upgradeEvent').select('event').where('orgUpgradeId', '=', id)
  const opened = (await query.orderBy('id').execute()).filter(({ event }) => event.type === 'UPGRADE_PHASE_OPENED')
  expect(opened.map(({ event }) => [event.phase_of, event.phase])).toEqual([
    ['downloads', 2],
    ['downloads', 3],
  ])
})

it('a failed device is restored once, and counts as failed once', async () => {
  const capabilities = { commands: ['upgrade', 'restore_backup'], restart_members: [], restart_nodes: [] } as const
  const [device] = await rollout.seed([{ devices: 1, capabilities: { ...capabilities, backup_version: OLD } }])
  if (device === undefined) throw new Error('no device')
  const killer = await createSwitch()
  const { id } = await rollout.create({ strategy: 'canary', rollback_on_failure: true, max_failure_percentage: 100 })
  await playUnderFire(killer, () => 'dies')
  rollout.clock.advance(options.rebootTimeoutMs.ap + options.reconnectGraceMs)
  // The begin of the restore, its request, and its end.
  expect(await advanceUnderFire(killer, ['site_upgrade', 'upgrade_target', 'org_upgrade'])).toBe(3)
  await rollout.fleet.connect([device], NEW)
  rollout.clock.advance(1000)
  expect(await advanceUnderFire(killer, ['site_upgrade', 'upgrade_target', 'device_command'])).toBe(3)
  await rollout.fleet.answer(() => 'keeps_old')
  rollout.clock.advance(1000)
  expect(await advanceUnderFire(killer, ['site_upgrade', 'upgrade_target', 'device_upgrade'])).toBe(3)
  expect(await commandsOf()).toEqual([['upgrade', 'restore_backup']])
  expect((await rollout.read(id)).siteUpgrades).toMatchObject([{ failures: [{ reason: 'rolled_back' }] }])
  const { hardFailures } = await rollout.ctx.db
    .selectFrom('orgUpgrade')
    .select('hardFailures')
    .executeTakeFirstOrThrow()
  expect(hardFailures).toBe(1)
})

it('a takeover moves all its devices or none', async () => {
  await rollout.seed([4])
  const killer = await createSwitch()
  const old = await rollout.create({ strategy: 'canary', canary_phases: [50] })
  await rollout.advance()
  const tables = ['device_upgrade', 'upgrade_target', 'site_upgrade', 'org_upgrade', 'audit_log']
  let young = ''
  const kills = await killer.killAt(tables, async () => {
    young = (await rollout.create({ supersede: true })).id
  })
  expect(kills).toBe(tables.length)
  await expectConsistent(rollout.ctx)
  expect([countAll(await rollout.read(old.id)), countAll(await rollout.read(young))]).toEqual([
    { dl_requested: 2, cancelled: 2 },
    { planned: 2 },
  ])
  await rollout.play()
  expect([...rollout.fleet.attempts.values()]).toEqual([1, 1, 1, 1])
})

it('devices that join are taken in as a whole, once', async () => {
  await rollout.seed([2, 2])
  const killer = await createSwitch()
  await rollout.fleet.disconnect(rollout.devices(0).slice(0, 1))
  const site = rollout.org.sites[0]?.id ?? ''
  const { id } = await rollout.create({ site_ids: [site], all_sites: false, include_new: true })
  await rollout.play()
  await rollout.ctx.db.updateTable('device').set({ siteId: site }).execute()
  for (const table of ['device_upgrade', 'site_upgrade', 'upgrade_target', 'device_event_row', 'audit_log']) {
    await killer.arm(table)
    rollout.clock.advance(61_000)
    // It logs the reason of its failure, and searches again.
    await includeAll(rollout.ctx)
    await killer.arm(null)
    await expectConsistent(rollout.ctx)
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 1, deferred: 1 })
  }
  rollout.clock.advance(61_000)
  await includeAll(rollout.ctx)
  expect(countAll(await rollout.read(id))).toEqual({ upgraded: 1, deferred: 1, planned: 2 })
  await rollout.play()
  expect([...rollout.fleet.attempts.values()]).toEqual([1, 1, 1])
})

it('a site begins in its window although the round that opened it died', async () => {
  await rollout.seed([2])
  const killer = await createSwitch()
  const { id } = await rollout.create({ maintenance_windows: [{ start: '13:00', end: '14:00' }] })
  expect(await advanceUnderFire(killer, ['site_upgrade', 'upgrade_target'])).toBe(1)
  rollout.clock.advance(3600e3)
  expect(await advanceUnderFire(killer, ['site_upgrade', 'upgrade_event', 'upgrade_target', 'device_command'])).toBe(4)
  await rollout.play()
  expect(statusOf(await rollout.read(id))).toEqual(['completed'])
  expect([...rollout.fleet.attempts.values()]).toEqual([1, 1])
})
