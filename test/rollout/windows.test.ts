import { describe, expect, it } from 'vitest'
import { cancelOrgUpgrade } from '../../src/upgrades/changes/cancel-org-upgrade.ts'
import { pauseOrgUpgrade } from '../../src/upgrades/changes/pause-org-upgrade.ts'
import { resumeOrgUpgrade } from '../../src/upgrades/changes/resume-org-upgrade.ts'
import { retryOrgUpgrade } from '../../src/upgrades/changes/retry-org-upgrade.ts'
import { advanceRollouts, followWallClock } from '../../src/rollout/worker.ts'
import { NEW } from '../support/fleets/fleet.ts'
import { stockCapabilities } from '../support/fleets/devices.ts'
import { expectConsistent } from './expect-consistent.ts'
import { countAll, options, statusOf, useRollout } from './harness.ts'

const rollout = useRollout()
const MINUTE_MS = 60_000

/** The clock starts at noon, UTC. */
const noon = { start: '12:00', end: '12:30' }
const nextNoon = new Date('2026-03-02T12:00:00Z')

async function waitOf(id: string): Promise<Date | null | undefined> {
  await expectConsistent(rollout.ctx)
  return (await rollout.read(id)).siteUpgrades[0]?.waitsUntil
}

function advanceTo(time: string): void {
  rollout.clock.advance(new Date(time).getTime() - rollout.clock.now().getTime())
}

const sent = () => [...rollout.fleet.attempts.values()].reduce((sum, count) => sum + count, 0)

describe('an upgrade with maintenance windows', () => {
  it('waits for the first one on the clocks of its site, sleeps until then, and says so', async () => {
    await rollout.seed([{ devices: 3, timezone: 'Europe/Berlin' }])
    const { id } = await rollout.create({ maintenance_windows: [{ days: ['sun'], start: '22:00', end: '04:00' }] })
    await rollout.play()
    const opens = new Date('2026-03-01T21:00:00Z')
    expect(await waitOf(id)).toEqual(opens)
    expect([sent(), statusOf(await rollout.read(id))]).toEqual([0, ['queued']])
    const row = await rollout.ctx.db.selectFrom('siteUpgrade').select('dueMs').executeTakeFirstOrThrow()
    expect(Math.round(row.dueMs ?? 0)).toBe(
      rollout.ctx.serviceClock.nowMs() + opens.getTime() - rollout.clock.now().getTime(),
    )
    advanceTo('2026-03-01T20:59:00Z')
    await rollout.play()
    expect(sent()).toBe(0)
    advanceTo('2026-03-01T21:00:00Z')
    await rollout.play()
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 3 })
    expect(await waitOf(id)).toBeNull()
  })

  it('begins no device that would not end in time; those that have begun end, and the rest follow in the next one', async () => {
    await rollout.seed([2])
    const { id } = await rollout.create({ strategy: 'serial', maintenance_windows: [noon] })
    await rollout.advance()
    await rollout.fleet.answer(() => 'fetches')
    advanceTo('2026-03-01T12:31:00Z')
    await rollout.advance()
    expect(countAll(await rollout.read(id))).toEqual({ downloading: 1, planned: 1 })
    const begun = rollout.devices().filter(({ id: deviceId }) => rollout.fleet.attempts.has(deviceId))
    await rollout.fleet.connect(begun, NEW)
    await rollout.play()
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 1, planned: 1 })
    expect([sent(), await waitOf(id)]).toEqual([1, nextNoon])
    // An access point may take ten minutes.
    advanceTo('2026-03-02T12:20:01Z')
    await rollout.play()
    expect([sent(), await waitOf(id)]).toEqual([1, new Date('2026-03-03T12:00:00Z')])
    advanceTo('2026-03-03T12:19:00Z')
    await rollout.play()
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 2 })
  })

  it('downloads until the end of a window, and reboots a device only where it ends in time', async () => {
    const capabilities = { ...stockCapabilities('switch'), commands: ['stage', 'activate'] as const }
    await rollout.seed([{ devices: 2, model: 'SW24', type: 'switch', capabilities }])
    advanceTo('2026-03-01T12:15:00Z')
    const { id } = await rollout.create({ maintenance_windows: [noon] })
    await rollout.advance()
    await rollout.fleet.answer(() => 'does')
    await rollout.play()
    // A switch may take 20 minutes.
    expect(countAll(await rollout.read(id))).toEqual({ downloaded: 2 })
    expect(await waitOf(id)).toEqual(nextNoon)
    advanceTo('2026-03-01T12:30:00Z')
    await rollout.play()
    expect([sent(), await waitOf(id)]).toEqual([2, nextNoon])
    advanceTo('2026-03-02T12:00:00Z')
    await rollout.play()
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 2 })
  })

  it('defers absent devices, and gives them up only in a window', async () => {
    const [first, second] = await rollout.seed([2], { online: false })
    if (first === undefined || second === undefined) throw new Error('no devices')
    const { id } = await rollout.create({ maintenance_windows: [noon] })
    await rollout.play()
    expect(countAll(await rollout.read(id))).toEqual({ deferred: 2 })
    advanceTo('2026-03-04T18:00:00Z')
    await rollout.fleet.connect([first])
    await rollout.play()
    expect(countAll(await rollout.read(id))).toEqual({ deferred: 2 })
    expect(await waitOf(id)).toEqual(new Date('2026-03-05T12:00:00Z'))
    advanceTo('2026-03-05T12:00:00Z')
    await rollout.play()
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 1, failed: 1 })
    expect((await rollout.read(id)).siteUpgrades[0]?.failures[0]?.reason).toBe('offline')
  })

  it('is paused, resumed and cancelled while it waits, and retried devices wait too', async () => {
    await rollout.seed([2])
    const { scope } = rollout.org
    const { id } = await rollout.create({ maintenance_windows: [noon] })
    await rollout.play((_, attempt) => (attempt === 1 ? 'refuses_content' : 'upgrades'))
    expect(countAll(await rollout.read(id))).toEqual({ failed: 2 })
    advanceTo('2026-03-01T15:00:00Z')
    await retryOrgUpgrade(rollout.ctx, scope, { id, macs: null })
    await rollout.play()
    expect([sent(), await waitOf(id)]).toEqual([2, nextNoon])
    await pauseOrgUpgrade(rollout.ctx, scope, id)
    await rollout.play()
    expect(await waitOf(id)).toBeNull()
    await resumeOrgUpgrade(rollout.ctx, scope, id)
    await rollout.play()
    expect([sent(), await waitOf(id)]).toEqual([2, nextNoon])
    await cancelOrgUpgrade(rollout.ctx, scope, id)
    await rollout.play()
    expect(countAll(await rollout.read(id))).toEqual({ cancelled: 2 })
    expect([sent(), await waitOf(id)]).toEqual([2, null])
  })

  it('is looked at again once the clock was set', async () => {
    await rollout.seed([1])
    advanceTo('2026-03-01T12:29:00Z')
    const { id } = await rollout.create({ maintenance_windows: [noon] })
    const { ctx } = rollout
    const before = await followWallClock(ctx, ctx.clock.now().getTime() - ctx.serviceClock.nowMs())
    await rollout.play()
    expect(await waitOf(id)).toEqual(nextNoon)
    await followWallClock(ctx, before - 60 * MINUTE_MS)
    const { dueMs } = await ctx.db.selectFrom('siteUpgrade').select('dueMs').executeTakeFirstOrThrow()
    expect(dueMs).toBeLessThanOrEqual(ctx.serviceClock.nowMs())
  })

  it('is looked at again once the clock was set although it has begun', async () => {
    await rollout.seed([2])
    const { id } = await rollout.create({ strategy: 'serial', maintenance_windows: [noon] })
    await rollout.advance()
    await rollout.fleet.answer()
    advanceTo('2026-03-01T12:31:00Z')
    await rollout.play()
    expect([statusOf(await rollout.read(id)), await waitOf(id)]).toEqual([['upgrading'], nextNoon])
    const { ctx } = rollout
    const before = await followWallClock(ctx, ctx.clock.now().getTime() - ctx.serviceClock.nowMs())
    await followWallClock(ctx, before - 60 * MINUTE_MS)
    const { dueMs } = await ctx.db.selectFrom('siteUpgrade').select('dueMs').executeTakeFirstOrThrow()
    expect(dueMs).toBeLessThanOrEqual(ctx.serviceClock.nowMs())
  })

  it('leaves a command that could not be sent to expire when the device could no longer end in time', async () => {
    const devices = await rollout.seed([1])
    await rollout.create({ maintenance_windows: [noon] })
    await rollout.advance()
    const queued = await rollout.ctx.db.selectFrom('deviceCommand').select('expiresAt').executeTakeFirstOrThrow()
    expect(queued.expiresAt).toEqual(new Date('2026-03-01T12:20:00Z'))
    // The gateway gets to it before the engine looks again.
    advanceTo('2026-03-01T12:20:00Z')
    expect(await rollout.fleet.answer()).toBe(0)
    await rollout.play()
    expect([sent(), await rollout.ctx.db.selectFrom('deviceCommand').select('state').execute()]).toEqual([
      0,
      [{ state: 'cancelled' }],
    ])
    advanceTo(nextNoon.toISOString())
    await rollout.play()
    expect(rollout.fleet.attempts.get(devices[0]?.id ?? '')).toBe(1)
  })

  it('cancels a device that has downloaded, and did not get to reboot for too long, and records it', async () => {
    const capabilities = { commands: ['stage', 'activate'], restart_members: [], restart_nodes: [] } as const
    const [device] = await rollout.seed([{ devices: 1, type: 'switch', model: 'EX4100', capabilities }])
    const { id } = await rollout.create({ maintenance_windows: [noon] })
    await rollout.advance()
    advanceTo('2026-03-01T12:11:00Z')
    await rollout.play(() => 'does')
    expect(countAll(await rollout.read(id))).toEqual({ downloaded: 1 })
    advanceTo(nextNoon.toISOString())
    const impatient = { ...options, downloadedDeadlineMs: 60 * MINUTE_MS }
    await advanceRollouts(rollout.ctx, impatient, new AbortController().signal)
    expect([countAll(await rollout.read(id)), statusOf(await rollout.read(id))]).toEqual([
      { cancelled: 1 },
      ['cancelled'],
    ])
    const target = await rollout.ctx.db.selectFrom('upgradeTarget').selectAll().executeTakeFirstOrThrow()
    expect([target.reason, target.timeline.endsWith(' not_rebooted\n')]).toEqual(['not_rebooted', true])
    const audits = await rollout.ctx.db.selectFrom('auditLog').selectAll().execute()
    const record = audits.find(({ message }) => message.includes('gave up'))
    expect(record?.after).toMatchObject({ id, total: 1, macs: [device?.mac] })
    await expectConsistent(rollout.ctx)
  })
})
