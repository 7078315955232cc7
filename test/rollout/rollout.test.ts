import { describe, expect, it } from 'vitest'
import type { TargetState } from '../../src/rollout/rollout.ts'
import { listFwUpdates } from '../support/fleets/device-upgrades.ts'
import { NEW, type Reply, type SeededDevice } from '../support/fleets/fleet.ts'
import { expectConsistent } from './expect-consistent.ts'
import { countOf, statusOf, useRollout } from './harness.ts'

const rollout = useRollout()
const { advance, create, play, read, seed } = rollout

async function eventsOf(): Promise<Record<string, number>> {
  const rows = await rollout.ctx.db
    .selectFrom('deviceEvent')
    .select('type')
    .where('type', 'like', '%UPGRADE%')
    .execute()
  return Object.fromEntries([...Map.groupBy(rows, ({ type }) => type)].map(([type, some]) => [type, some.length]))
}

async function targetsIn(state: TargetState): Promise<SeededDevice[]> {
  const rows = await rollout.ctx.db.selectFrom('upgradeTarget').select('deviceId').where('state', '=', state).execute()
  return rollout.devices().filter(({ id }) => rows.some(({ deviceId }) => deviceId === id))
}

describe('an upgrade', () => {
  it('at several sites completes with one flash for each device, and reports the end', async () => {
    const devices = await seed([3, 2])
    const { id } = await create()
    await play()
    const upgrade = await read(id)
    expect(statusOf(upgrade)).toEqual(['completed', 'completed'])
    expect(countOf(upgrade)).toEqual({ upgraded: 3 })
    expect([...rollout.fleet.flashes.values()]).toEqual([1, 1, 1, 1, 1])
    expect(await eventsOf()).toEqual({ AP_UPGRADE_BY_USER: 5, AP_UPGRADED: 5 })
    const statuses = await rollout.ctx.db.selectFrom('deviceStatus').select('firmware').execute()
    expect(statuses).toEqual(devices.map(() => ({ firmware: NEW })))
    const success = expect.objectContaining({ progress: 100, status: 'success', will_retry: false })
    expect(await listFwUpdates(rollout.ctx.db)).toEqual(devices.map(() => success))
    await expectConsistent(rollout.ctx)
  })

  it('opens a phase when the one before has ended', async () => {
    await seed([20])
    const { id } = await create({ reboot_strategy: 'canary', canary_phases: [10, 50] })
    for (const size of [2, 8, 10]) {
      await advance()
      expect(countOf(await read(id))).toMatchObject({ dl_requested: size })
      await expectConsistent(rollout.ctx)
      // All but one: the gate stays shut.
      let silent = 1
      expect(await rollout.fleet.answer(() => (silent-- > 0 ? 'silent' : 'upgrades'))).toBe(size)
      await advance()
      expect(await rollout.fleet.answer()).toBe(0)
      const [slow] = await targetsIn('dl_requested')
      await rollout.fleet.disconnect(slow === undefined ? [] : [slow])
      await rollout.fleet.connect(slow === undefined ? [] : [slow], NEW)
    }
    await advance()
    expect(statusOf(await read(id))).toEqual(['completed'])
  })

  it("leaves out what it can't upgrade, and says why", async () => {
    const devices = await seed([3])
    await rollout.fleet.connect(devices.slice(0, 1), NEW)
    const first = await create()
    expect(countOf(first)).toEqual({ planned: 2, skipped: 1 })
    const second = await create()
    expect(statusOf(second)).toEqual(['completed'])
    expect(second.siteUpgrades[0]?.notes).toHaveLength(2)
    expect(second.siteUpgrades[0]?.notes[0]).toMatchObject({ reason: expect.stringMatching(/^in upgrade /) })
    await play()
    expect(countOf(await read(first.id))).toEqual({ upgraded: 2, skipped: 1 })
    expect(countOf(await create())).toEqual({ skipped: 3 })
    await expectConsistent(rollout.ctx)
  })

  it('waits for its reboot instant', async () => {
    await seed([1])
    const at = rollout.clock.now().getTime() / 1000 + 3600
    const { id } = await create({ start_time: at - 1800, reboot_at: at })
    rollout.clock.advance(3599_000)
    await advance()
    expect(statusOf(await read(id))).toEqual(['queued'])
    rollout.clock.advance(1000)
    await advance()
    expect(statusOf(await read(id))).toEqual(['downloading'])
  })

  it('does not wait for absent devices, takes them when they come, and gives them up at last', async () => {
    const devices = await seed([4], { online: false })
    await rollout.fleet.connect(devices.slice(0, 2))
    const { id } = await create({ reboot_strategy: 'canary' })
    await play()
    expect(countOf(await read(id))).toEqual({ upgraded: 2, deferred: 2 })
    await rollout.fleet.connect(devices.slice(2, 3))
    rollout.clock.advance(5000)
    await play()
    expect(countOf(await read(id))).toEqual({ upgraded: 3, deferred: 1 })
    rollout.clock.advance(72 * 3600e3)
    await advance()
    expect(countOf(await read(id))).toEqual({ upgraded: 3, failed: 1 })
    expect(statusOf(await read(id))).toEqual(['completed'])
    expect(await eventsOf()).toMatchObject({ AP_UPGRADED: 3, AP_UPGRADE_FAILED: 1 })
    await expectConsistent(rollout.ctx)
  })
})

describe('a lost answer', () => {
  it('is repeated once the first attempt is certainly dead', async () => {
    await seed([1])
    const { id } = await create()
    await play((_, attempt) => (attempt === 1 ? 'loses_early' : 'upgrades'))
    rollout.clock.advance(30_000)
    await play((_, attempt) => (attempt === 1 ? 'loses_early' : 'upgrades'))
    expect(countOf(await read(id))).toEqual({ upgraded: 1 })
    const downloads = await rollout.ctx.db.selectFrom('firmwareDownload').selectAll().execute()
    expect(downloads).toMatchObject([{ deliveredAt: null, fencedAt: expect.any(Date) }])
    expect([...rollout.fleet.attempts.values()]).toEqual([2])
  })

  it('of a gateway that crashes again and again costs the device no attempt', async () => {
    const devices = await seed([1])
    const { id } = await create()
    for (let crash = 0; crash < 5; crash += 1) {
      await play(() => 'silent')
      await rollout.fleet.crash(devices)
      await play(() => 'silent')
    }
    expect(countOf(await read(id))).toEqual({ dl_requested: 1 })
    await rollout.fleet.crash(devices)
    await play()
    expect(countOf(await read(id))).toEqual({ upgraded: 1 })
    expect(statusOf(await read(id))).toEqual(['completed'])
    expect([...rollout.fleet.attempts.values()]).toEqual([7])
    expect([...rollout.fleet.flashes.values()]).toEqual([1])
    await expectConsistent(rollout.ctx)
  })

  it('is not repeated where the device has the image', async () => {
    await seed([1])
    const { id } = await create()
    await play(() => 'loses_late')
    expect(countOf(await read(id))).toEqual({ upgraded: 1 })
    expect([...rollout.fleet.attempts.values()]).toEqual([1])
    expect([...rollout.fleet.flashes.values()]).toEqual([1])
  })
})

describe('failures', () => {
  it('are reported with their reason', async () => {
    const [refusing, old, dead] = await seed([3])
    const replies = new Map<SeededDevice | undefined, Reply>([
      [refusing, 'refuses'],
      [old, 'keeps_old'],
      [dead, 'dies'],
    ])
    const { id } = await create()
    for (let round = 0; round < 4; round += 1) {
      await play((device) => replies.get(device) ?? 'upgrades')
      rollout.clock.advance(300_000)
    }
    expect(countOf(await read(id))).toEqual({ failed: 3 })
    expect(statusOf(await read(id))).toEqual(['failed'])
    const targets = await rollout.ctx.db
      .selectFrom('upgradeTarget')
      .select(['deviceId', 'reason'])
      .orderBy('deviceId')
      .execute()
    expect(targets.map(({ reason }) => reason)).toEqual(['Download failed', 'not_applied', 'no_reconnect'])
    expect([...rollout.fleet.attempts.values()].toSorted((a, b) => a - b)).toEqual([1, 1, 3])
    await expectConsistent(rollout.ctx)
  })

  it('of the content are final: nothing is tried again', async () => {
    await seed([2])
    const { id } = await create()
    await play(() => 'refuses_content')
    expect(countOf(await read(id))).toEqual({ failed: 2 })
    expect([...rollout.fleet.attempts.values()]).toEqual([1, 1])
    const failures = (await read(id)).siteUpgrades.flatMap((site) => site.failures.map(({ reason }) => reason))
    expect(failures).toEqual(['Invalid signature', 'Invalid signature'])
  })

  it('beyond the limit stop all sites, and nothing is commanded after', async () => {
    await seed([10, 10])
    const { id } = await create({ reboot_strategy: 'serial', max_failure_percentage: 5 })
    // One failure in ten exceeds the limit of a site; two in twenty would exceed that of both.
    await play(() => 'keeps_old')
    const upgrade = await read(id)
    expect(statusOf(upgrade)).toEqual(['failed', 'failed'])
    expect(countOf(upgrade)).toEqual({ failed: 1, cancelled: 9 })
    expect(upgrade.siteUpgrades.map(({ stopReason }) => stopReason)).toEqual([
      expect.stringMatching(/failed/),
      expect.stringMatching(/failed/),
    ])
    expect(upgrade.siteUpgrades[0]?.failures).toEqual([
      { mac: expect.any(String), state: 'failed', reason: 'not_applied' },
    ])
    expect([...rollout.fleet.attempts.values()]).toEqual([1, 1])
    await expectConsistent(rollout.ctx)
  })

  it('of one site count for the whole organization', async () => {
    await seed([40, 1])
    const [, small] = rollout.org.sites
    const { id } = await create({ reboot_strategy: 'serial', max_failure_percentage: 2 })
    // One failure in one exceeds the limit of the small site, and one in 41 that of all of them together.
    await play((device) => (small?.devices.includes(device) === true ? 'keeps_old' : 'silent'))
    const upgrade = await read(id)
    const big = upgrade.siteUpgrades.findIndex(({ siteId }) => siteId === rollout.org.sites[0]?.id)
    expect(countOf(upgrade, big)).toEqual({ cancelled: 40 })
    const row = await rollout.ctx.db
      .selectFrom('siteUpgrade')
      .select(['status', 'stopReason'])
      .where('siteId', '=', rollout.org.sites[0]?.id ?? '')
      .execute()
    expect(row).toEqual([{ status: 'failed', stopReason: 'more than 2 % of 41 devices in all sites failed' }])
  })
})
