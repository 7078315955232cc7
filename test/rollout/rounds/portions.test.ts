// Upgrades of so many devices that a round reads only a portion of their targets.
import { describe, expect, it } from 'vitest'
import type { UnfinishedRead } from '../../../src/rollout/rounds/decide-portion.ts'
import type { RolloutOptions } from '../../../src/rollout/rollout.ts'
import { claimSiteUpgrades } from '../../../src/rollout/store.ts'
import { advanceRollouts, advanceSiteUpgrades } from '../../../src/rollout/worker.ts'
import { cancelOrgUpgrade } from '../../../src/upgrades/changes/cancel-org-upgrade.ts'
import { pauseOrgUpgrade } from '../../../src/upgrades/changes/pause-org-upgrade.ts'
import { resumeOrgUpgrade } from '../../../src/upgrades/changes/resume-org-upgrade.ts'
import { retryOrgUpgrade } from '../../../src/upgrades/changes/retry-org-upgrade.ts'
import type { OrgUpgradeBody } from '../../../src/upgrades/wire.ts'
import type { Reply } from '../../support/fleets/fleet.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countAll, options, statusOf, useRollout } from '../harness.ts'

const rollout = useRollout()
const small: RolloutOptions = { ...options, targetsPerRound: 3 }

async function advance(changed?: readonly string[]): Promise<void> {
  rollout.clock.advance(1)
  await advanceRollouts(rollout.ctx, small, new AbortController().signal, changed)
  await expectConsistent(rollout.ctx)
}

async function play(reply?: () => Reply): Promise<void> {
  const deviceIds = rollout.devices().map(({ id }) => id)
  for (let quiet = 0; quiet < 2;) {
    await advance(deviceIds)
    quiet = (await rollout.fleet.answer(reply)) === 0 ? quiet + 1 : 0
    rollout.clock.advance(1000)
  }
}

async function rowOf() {
  return rollout.ctx.db.selectFrom('siteUpgrade').selectAll().executeTakeFirstOrThrow()
}

/** The rounds that have been claimed. */
async function roundsOf(): Promise<number> {
  return Number((await rowOf()).epoch)
}

const flashes = () => rollout.devices().map(({ id }) => rollout.fleet.flashes.get(id) ?? 0)

describe('an upgrade of many devices', () => {
  it('commands all of them without another wake, in rounds of some of them', async () => {
    await rollout.seed([10])
    const { id } = await rollout.create()
    await advance([])
    expect(countAll(await rollout.read(id))).toEqual({ dl_requested: 10 })
    expect(await roundsOf()).toBe(4)
    expect((await rowOf()).dueMs).toBeGreaterThan(rollout.ctx.serviceClock.nowMs())
    const commands = await rollout.ctx.db.selectFrom('deviceCommand').select('deviceId').execute()
    expect(new Set(commands.map(({ deviceId }) => deviceId)).size).toBe(10)
  })

  it('takes several rounds for many devices that have changed', async () => {
    const devices = await rollout.seed([10])
    const { id } = await rollout.create()
    await advance()
    const before = await roundsOf()
    await rollout.fleet.answer()
    await advance(devices.map((device) => device.id))
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 10 })
    expect(await roundsOf()).toBe(before + 4)
    expect(statusOf(await rollout.read(id))).toEqual(['completed'])
  })

  it('has all its targets read once after many devices have downloaded, and commands them', async () => {
    const twoSteps = { commands: ['stage', 'activate'], restart_members: [], restart_nodes: [] } as const
    const devices = await rollout.seed([{ devices: 10, capabilities: twoSteps }])
    const { id } = await rollout.create()
    await advance()
    await rollout.fleet.answer(() => 'does')
    const before = await roundsOf()
    await advance(devices.map((device) => device.id))
    expect(countAll(await rollout.read(id))).toEqual({ reboot_requested: 10 })
    // Four rounds read the changed devices, and four all targets.
    expect(await roundsOf()).toBe(before + 8)
  })

  const bodies: readonly OrgUpgradeBody[] = [
    { reboot_strategy: 'canary', canary_phases: [10, 50, 100] },
    { reboot_strategy: 'canary', canary_phases: [10, 50, 100], phase_scope: 'site' },
    { strategy: 'big_bang' },
    { strategy: 'big_bang', max_in_flight: 4 },
  ]
  it.each(bodies)('upgrades each of them once: %j', async (body) => {
    await rollout.seed([8, 2, 5])
    const { id } = await rollout.create(body)
    await play()
    expect(statusOf(await rollout.read(id))).toEqual(['completed', 'completed', 'completed'])
    expect(flashes()).toEqual(Array.from({ length: 15 }, () => 1))
  })

  it('gives up devices that stay away, and reports those that fail', async () => {
    await rollout.seed([10], { online: false })
    const { id } = await rollout.create()
    await advance()
    expect(countAll(await rollout.read(id))).toEqual({ deferred: 10 })
    const some = rollout.devices().slice(0, 7)
    await rollout.fleet.connect(some)
    await play(() => 'keeps_old')
    rollout.clock.advance(small.offlineDeadlineMs)
    await play(() => 'keeps_old')
    expect(countAll(await rollout.read(id))).toEqual({ failed: 10 })
    const reasons = await rollout.ctx.db.selectFrom('upgradeTarget').select('reason').execute()
    expect(reasons.filter(({ reason }) => reason === 'offline')).toHaveLength(3)
  })

  it('waits for the next maintenance window once', async () => {
    await rollout.seed([10])
    const windows = [{ start: '13:00', end: '14:00' }]
    const { id } = await rollout.create({ maintenance_windows: [{ start: '12:00', end: '12:30' }, ...windows] })
    rollout.clock.advance(25 * 60_000)
    await advance()
    expect(countAll(await rollout.read(id))).toEqual({ planned: 10 })
    rollout.clock.advance(6 * 60_000)
    await advance()
    const { dueMs, waitsUntil, epoch } = await rowOf()
    expect(waitsUntil).toEqual(new Date('2026-03-01T13:00:00Z'))
    expect(dueMs).toBe(rollout.ctx.serviceClock.nowMs() + 29 * 60_000 - 2)
    await advance([])
    expect((await rowOf()).epoch).toBe(epoch)
    rollout.clock.advance(29 * 60_000)
    await advance([])
    expect(countAll(await rollout.read(id))).toEqual({ dl_requested: 10 })
    expect((await rowOf()).waitsUntil).toBeNull()
  })
})

describe('between two portions', () => {
  /** Runs one round, which reads a portion. @param unfinished What the process of the round knows of earlier ones. */
  async function advanceOnce(unfinished: Map<string, UnfinishedRead> = new Map()): Promise<void> {
    rollout.clock.advance(1)
    const nowMs = rollout.ctx.serviceClock.nowMs()
    const due = { nowMs, dueBeforeMs: nowMs, changed: [], seen: [], leaseUntilMs: nowMs + 10_000, limit: 10 }
    const claims = await claimSiteUpgrades(rollout.ctx.db, due)
    await advanceSiteUpgrades(rollout.ctx, claims, small, { changes: [], mayRest: true, unfinished })
    await expectConsistent(rollout.ctx)
  }

  it('a process may die, and the next one commands the rest', async () => {
    await rollout.seed([10])
    const { id } = await rollout.create()
    await advanceOnce()
    expect(countAll(await rollout.read(id))).toEqual({ dl_requested: 3, planned: 7 })
    await advance([])
    expect(countAll(await rollout.read(id))).toEqual({ dl_requested: 10 })
    await play()
    expect(flashes()).toEqual(Array.from({ length: 10 }, () => 1))
  })

  it('a pause commands no further device, and a resume does', async () => {
    await rollout.seed([10])
    const { id } = await rollout.create()
    const unfinished = new Map<string, UnfinishedRead>()
    await advanceOnce(unfinished)
    expect(unfinished.size).toBe(1)
    await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    for (let round = 0; round < 5; round += 1) await advanceOnce(unfinished)
    expect(countAll(await rollout.read(id))).toEqual({ planned: 10 })
    await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    for (let round = 0; round < 5; round += 1) await advanceOnce(unfinished)
    expect(countAll(await rollout.read(id))).toEqual({ dl_requested: 10 })
    expect(unfinished.size).toBe(0)
  })

  it('targets that are planned again are not overlooked', async () => {
    await rollout.seed([10])
    const { id } = await rollout.create()
    await advance()
    const [first, ...others] = rollout.devices()
    await rollout.fleet.answer((device) => (device === first ? 'refuses_content' : 'silent'))
    await advance(rollout.devices().map((device) => device.id))
    expect(countAll(await rollout.read(id))).toEqual({ failed: 1, dl_requested: 9 })
    const unfinished = new Map<string, UnfinishedRead>()
    rollout.clock.advance(60_000)
    await advanceOnce(unfinished)
    expect(unfinished.size).toBe(1)
    await retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id, macs: null })
    await advanceOnce(unfinished)
    expect(countAll(await rollout.read(id))).toEqual({ dl_requested: 10 })
    expect(others).toHaveLength(9)
  })

  it('a cancellation cancels the rest', async () => {
    await rollout.seed([10])
    const { id } = await rollout.create()
    const unfinished = new Map<string, UnfinishedRead>()
    await advanceOnce(unfinished)
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    for (let round = 0; round < 10; round += 1) await advanceOnce(unfinished)
    expect(countAll(await rollout.read(id))).toEqual({ cancelled: 10 })
    expect(statusOf(await rollout.read(id))).toEqual(['cancelled'])
  })
})
