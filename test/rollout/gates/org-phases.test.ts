import { describe, expect, it } from 'vitest'
import { watchUpgrades } from '../../../src/upgrades/alarms/watch-upgrades.ts'
import { cancelOrgUpgrade } from '../../../src/upgrades/changes/cancel-org-upgrade.ts'
import { pauseOrgUpgrade } from '../../../src/upgrades/changes/pause-org-upgrade.ts'
import { resumeOrgUpgrade } from '../../../src/upgrades/changes/resume-org-upgrade.ts'
import type { OrgUpgradeBody } from '../../../src/upgrades/wire.ts'
import type { Reply, SeededDevice, SiteSeed } from '../../support/fleets/fleet.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countAll, useRollout } from '../harness.ts'

const rollout = useRollout()
const { advance, seed } = rollout

const create = async (body: OrgUpgradeBody): Promise<string> =>
  (await rollout.create({ strategy: 'canary', ...body })).id

async function play(reply: (device: SeededDevice) => Reply = () => 'upgrades'): Promise<void> {
  await rollout.play(reply)
  await expectConsistent(rollout.ctx)
}

interface Shown {
  readonly counts: Record<string, number>
  readonly statuses: readonly string[]
  readonly holds: readonly (string | undefined)[]
  readonly stops: readonly (string | null)[]
}

/** The upgrade over all its sites. */
async function read(id: string): Promise<Shown> {
  const upgrade = await rollout.read(id)
  const { siteUpgrades } = upgrade
  const distinct = <T>(values: readonly T[]): T[] => [...new Set(values)]
  return {
    counts: countAll(upgrade),
    statuses: distinct(siteUpgrades.map(({ status }) => status)).toSorted(),
    holds: distinct(siteUpgrades.map(({ hold }) => hold?.reason)),
    stops: distinct(siteUpgrades.map(({ stopReason }) => stopReason)),
  }
}

const many = (sites: number, devices: number): SiteSeed[] => Array.from({ length: sites }, () => ({ devices }))

describe('canary phases over many sites', () => {
  it('reach 10 of 1,000 devices at 100 sites with bad firmware, and are held', async () => {
    await seed(many(100, 10))
    const id = await create({ max_failure_percentage: 5 })
    await play(() => 'keeps_old')
    expect(rollout.fleet.attempts.size).toBe(10)
    const reason = '10 of 10 devices of phase 1 failed, more than 5 %'
    const { counts, holds } = await read(id)
    expect(counts['failed']).toBe(10)
    // Sites where a device of the first phase failed have had more than 5 % of their ten devices fail.
    expect((counts['planned'] ?? 0) + (counts['cancelled'] ?? 0)).toBe(990)
    expect(new Set(holds)).toEqual(new Set([reason, undefined]))
    const audits = rollout.ctx.db.selectFrom('auditLog').select('message').where('message', 'like', '%held%')
    expect(await audits.execute()).toEqual([{ message: `Upgrade ${id} held: ${reason}` }])
  })

  it('stop at all sites once a phase has more failures than tolerated', async () => {
    await seed(many(100, 10))
    const id = await create({ max_failures: [2, 0, 0, 0] })
    await play(() => 'keeps_old')
    expect(rollout.fleet.attempts.size).toBe(10)
    expect(await read(id)).toMatchObject({ statuses: ['failed'], stops: ['more than 2 failures in phase 1'] })
    for (let time = 0; time < 2; time += 1) await watchUpgrades(rollout.ctx)
    const alarms = await rollout.ctx.db
      .selectFrom('alarm')
      .select(['type', 'subject', 'count', 'siteId', 'text'])
      .execute()
    const text = expect.stringMatching(/^The upgrade to .* failed: more than 2 failures in phase 1$/)
    expect(alarms).toEqual([{ type: 'upgrade_failed', subject: id, count: 1, siteId: null, text }])
  })

  it('open one after the other over all sites with good firmware', async () => {
    await seed(many(100, 10))
    const id = await create({})
    for (const commanded of [10, 100, 500, 1000]) {
      rollout.clock.advance(1000)
      await advance()
      await expectConsistent(rollout.ctx)
      // All answer but one: the gate stays shut at every site.
      let silent = 1
      for (;;) if ((await rollout.fleet.answer(() => (silent-- > 0 ? 'silent' : 'upgrades'))) === 0) break
      rollout.clock.advance(1000)
      await advance()
      expect(await rollout.fleet.answer()).toBe(0)
      expect(rollout.fleet.attempts.size).toBe(commanded)
      const rows = rollout.ctx.db.selectFrom('upgradeTarget').select('deviceId').where('state', '=', 'dl_requested')
      const slow = new Set((await rows.execute()).map(({ deviceId }) => deviceId))
      const devices = rollout.devices().filter(({ id: deviceId }) => slow.has(deviceId))
      expect(devices).toHaveLength(1)
      await rollout.fleet.disconnect(devices)
      await rollout.fleet.connect(devices, '2.0.0')
    }
    await play()
    expect(await read(id)).toMatchObject({ statuses: ['completed'], counts: { upgraded: 1000 } })
    expect([...rollout.fleet.flashes.values()].every((count) => count === 1)).toBe(true)
  }, 60_000)

  it('are shares of each site if the request says so', async () => {
    await seed(many(50, 10))
    await create({ phase_scope: 'site' })
    rollout.clock.advance(1000)
    await advance()
    expect(await rollout.fleet.answer()).toBe(50)
  })
})

describe('a gate of the whole upgrade', () => {
  /** Now on the clocks of sites in UTC, and later at those west of it. */
  const noonUtc = () => rollout.clock.now().toISOString().slice(0, 19)

  it('waits for a site whose local start is later, and has targets in the phase', async () => {
    // The clocks of the Azores are one hour behind.
    await seed([
      { devices: 2, timezone: 'UTC' },
      { devices: 2, timezone: 'Atlantic/Azores', model: 'SW24', type: 'switch' },
    ])
    const id = await create({ canary_phases: [60], start_datetime: noonUtc() })
    await play()
    // Among three devices in the first phase there is at least one of each model.
    expect((await read(id)).counts['planned']).toBeGreaterThanOrEqual(2)
    expect(
      [...rollout.fleet.attempts.keys()].every((device) => rollout.devices(0).some((one) => one.id === device)),
    ).toBe(true)
    rollout.clock.advance(3600e3)
    await play()
    expect(await read(id)).toMatchObject({ statuses: ['completed'], counts: { upgraded: 4 } })
  })

  it('opens a phase before a site has started, which begins it at its own start', async () => {
    await seed([
      { devices: 3, timezone: 'UTC' },
      { devices: 1, timezone: 'Atlantic/Azores' },
    ])
    await rollout.fleet.disconnect(rollout.devices(1))
    const id = await create({ canary_phases: [75], start_datetime: noonUtc() })
    await rollout.fleet.connect(rollout.devices(1))
    await play()
    expect(await read(id)).toMatchObject({ counts: { upgraded: 3, planned: 1 } })
    rollout.clock.advance(3600e3)
    await play()
    expect(await read(id)).toMatchObject({ statuses: ['completed'], counts: { upgraded: 4 } })
  })

  it('does not wait for absent devices, but holds where a phase has no others', async () => {
    await seed(many(4, 2))
    const absent = rollout.devices().slice(3)
    await rollout.fleet.disconnect(absent)
    const id = await create({ canary_phases: [25, 50, 75] })
    await play()
    const { counts, holds } = await read(id)
    expect(counts).toEqual({ upgraded: 3, deferred: 3, planned: 2 })
    expect(holds).toContain('0 of 2 devices of phase 3 were upgraded')
    await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await play()
    expect((await read(id)).counts).toEqual({ upgraded: 3, deferred: 5 })
    await rollout.fleet.connect(absent)
    rollout.clock.advance(5000)
    await play()
    expect(await read(id)).toMatchObject({ statuses: ['completed'], counts: { upgraded: 8 } })
  })

  it('asks for no success where limits by phase replace it', async () => {
    await seed(many(4, 2))
    const absent = rollout.devices().slice(4)
    await rollout.fleet.disconnect(absent)
    const id = await create({ canary_phases: [25, 50, 75], max_failures: [0, 0, 0, 0] })
    await play()
    expect((await read(id)).counts).toEqual({ upgraded: 4, deferred: 4 })
    await rollout.fleet.connect(absent)
    rollout.clock.advance(5000)
    await play()
    expect(await read(id)).toMatchObject({ statuses: ['completed'], counts: { upgraded: 8 } })
  })

  it('counts max_failures over all sites', async () => {
    await seed(many(10, 1))
    const id = await create({ canary_phases: [40], max_failures: [1, 0] })
    let failing = 1
    await play(() => (failing-- > 0 ? 'keeps_old' : 'upgrades'))
    // One failure of four is tolerated; the limits replace the gate's percentage.
    expect((await read(id)).counts).toEqual({ upgraded: 9, failed: 1 })
  })

  it('holds all sites, and opens once it is resumed', async () => {
    await seed(many(10, 4))
    const id = await create({ canary_phases: [25], max_failure_percentage: 30 })
    let failing = 4
    await play(() => (failing-- > 0 ? 'keeps_old' : 'upgrades'))
    expect((await read(id)).holds).toContain('4 of 10 devices of phase 1 failed, more than 30 %')
    expect(rollout.fleet.attempts.size).toBe(10)
    await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await play()
    const { counts, holds } = await read(id)
    expect(counts['upgraded']).toBeGreaterThanOrEqual(24)
    expect(holds).toEqual([undefined])
  })

  it('opens nothing while the upgrade is paused, and nothing once it is cancelled', async () => {
    await seed(many(10, 4))
    const id = await create({ canary_phases: [25] })
    rollout.clock.advance(1000)
    await advance()
    await rollout.fleet.answer()
    await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await play()
    expect((await read(id)).counts).toEqual({ upgraded: 10, planned: 30 })
    await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    rollout.clock.advance(1000)
    await advance()
    expect((await read(id)).counts).toEqual({ upgraded: 10, dl_requested: 30 })
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await play()
    expect((await read(id)).counts).toEqual({ upgraded: 10, cancelled: 30 })
    expect(rollout.fleet.attempts.size).toBe(10)
  })

  it('opens a phase once, however many workers run', async () => {
    await seed(many(20, 3))
    const id = await create({})
    for (let round = 0; round < 20; round += 1) {
      await Promise.all([advance(), advance(), rollout.fleet.answer()])
      await expectConsistent(rollout.ctx)
      rollout.clock.advance(1000)
    }
    expect(await read(id)).toMatchObject({ statuses: ['completed'], counts: { upgraded: 60 } })
    expect([...rollout.fleet.attempts.values()].every((count) => count === 1)).toBe(true)
  })
})
