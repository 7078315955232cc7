import { beforeEach, describe, expect, it } from 'vitest'
import { isTerminal } from '../../../src/rollout/rollout.ts'
import { cancelOrgUpgrade } from '../../../src/upgrades/changes/cancel-org-upgrade.ts'
import { approveOrgUpgrade } from '../../../src/upgrades/changes/approve-org-upgrade.ts'
import { resumeOrgUpgrade } from '../../../src/upgrades/changes/resume-org-upgrade.ts'
import { retryOrgUpgrade } from '../../../src/upgrades/changes/retry-org-upgrade.ts'
import { findSummary } from '../../../src/upgrades/reports/store-summary.ts'
import { getReported } from '../../../src/upgrades/reports/store.ts'
import { presentSummary } from '../../../src/upgrades/reports/wire.ts'
import { getUpgradeTarget } from '../../../src/upgrades/targets/store.ts'
import { NEW, type SeededDevice } from '../../support/fleets/fleet.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countAll, statusOf, useRollout } from '../harness.ts'

const rollout = useRollout()
beforeEach(() => rollout.seed([4, 4]))

const canary = { strategy: 'canary', canary_phases: [50] }

/** Returns, for each device, the upgrades that have or had it, and their results. */
async function fates(): Promise<Map<string, string[]>> {
  const rows = await rollout.ctx.db
    .selectFrom('upgradeTarget')
    .select(['deviceId', 'state'])
    .orderBy('upgradeId')
    .execute()
  return new Map(
    [...Map.groupBy(rows, ({ deviceId }) => deviceId)].map(([id, some]) => [id, some.map(({ state }) => state)]),
  )
}

/** Takes over the devices of a phase of an upgrade. */
async function takePhase(orgUpgradeId: string, phase: number) {
  const { db } = rollout.ctx
  const taken = await db
    .selectFrom('upgradeTarget')
    .innerJoin('siteUpgrade', 'siteUpgrade.id', 'upgradeTarget.upgradeId')
    .select('deviceId')
    .where('orgUpgradeId', '=', orgUpgradeId)
    .where('phase', '=', phase)
    .execute()
  const ids = taken.map(({ deviceId }) => deviceId)
  await db.updateTable('device').set({ name: 'taken' }).where('id', 'in', ids).execute()
  return rollout.create({ supersede: true, rules: [{ match_name: 'taken' }] })
}

describe('an upgrade that supersedes another one', () => {
  it('takes the devices over that have not begun; the others end in the old one, and every device is upgraded once', async () => {
    const old = await rollout.create(canary)
    await rollout.advance()
    await rollout.fleet.answer(() => 'fetches')
    await rollout.advance()
    expect(countAll(await rollout.read(old.id))).toEqual({ downloading: 4, planned: 4 })
    const young = await rollout.create({ supersede: true, name: 'Saturday' })
    await expectConsistent(rollout.ctx)
    expect(young.notes).toEqual([{ reason: `4 devices are taken over from upgrade ${old.id}` }])
    expect(countAll(young)).toEqual({ planned: 4 })
    const busy = young.siteUpgrades.flatMap(({ notes }) => notes.map(({ reason }) => reason))
    expect(busy).toEqual(
      Array.from({ length: 4 }, () => expect.stringMatching(/^in upgrade .+, which has begun with it$/)),
    )
    expect(countAll(await rollout.read(old.id))).toEqual({ downloading: 4, cancelled: 4 })
    const begun = rollout.devices().filter(({ id }) => rollout.fleet.attempts.has(id))
    const mac = rollout.devices().find((device) => !begun.includes(device))?.mac ?? ''
    const { steps } = await getUpgradeTarget(rollout.ctx.db, rollout.org.scope, { id: old.id, mac })
    expect(steps).toMatchObject([
      { state: 'planned', reason: null },
      { state: 'cancelled', at: rollout.clock.now(), reason: `taken over by upgrade "Saturday" (${young.id})` },
    ])
    await rollout.fleet.connect(begun, '2.0.0')
    await rollout.play()
    await expectConsistent(rollout.ctx)
    // Its second phase is empty now, and waits for nothing.
    for (const { status, targets } of (await rollout.read(old.id)).siteUpgrades)
      expect(status).toBe(targets.upgraded === undefined ? 'cancelled' : 'completed')
    expect(countAll(await rollout.read(young.id))).toEqual({ upgraded: 4 })
    for (const states of (await fates()).values())
      expect([['upgraded'], ['cancelled', 'upgraded']]).toContainEqual(states)
    const macs = await rollout.ctx.db
      .selectFrom('auditLog')
      .select('message')
      .where('message', 'like', '% takes %')
      .execute()
    expect(macs.map(({ message }) => message)).toEqual([
      `Upgrade "Saturday" (${young.id}) takes 4 devices over from upgrade ${old.id}`,
    ])
  })

  it('ends the old one where it leaves no device to it, also while it is queued, deferred or held', async () => {
    await rollout.fleet.disconnect(rollout.devices(0))
    const queued = await rollout.create({ ...canary, start_datetime: '2026-03-02T12:00:00Z' })
    const deferred = await rollout.create({ supersede: true })
    await rollout.advance()
    expect(statusOf(await rollout.read(queued.id))).toEqual(['cancelled', 'cancelled'])
    await rollout.play()
    await expectConsistent(rollout.ctx)
    expect(countAll(await rollout.read(deferred.id))).toEqual({ deferred: 4, upgraded: 4 })
    const { id } = await rollout.create({ supersede: true })
    await rollout.advance()
    await expectConsistent(rollout.ctx)
    expect(rollout.ctx.metrics.encode([])).toContain('signalbox_upgrade_devices_ended_total{result="cancelled"} 12\n')
    const old = await rollout.read(deferred.id)
    expect(statusOf(old).toSorted()).toEqual(['cancelled', 'completed'])
    expect(old.siteUpgrades.flatMap(({ stopReason }) => stopReason ?? [])).toEqual([`taken over by upgrade ${id}`])
    await rollout.fleet.connect(rollout.devices(0))
    rollout.clock.advance(5000)
    await rollout.play()
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 4, skipped: 4 })
    expect([...rollout.fleet.flashes.values()]).toEqual(Array.from({ length: 8 }, () => 1))
  })

  it('leaves absent devices to the old one that it has commanded before', async () => {
    const old = await rollout.create({})
    await rollout.advance()
    await rollout.fleet.answer(() => 'loses_early')
    await rollout.fleet.disconnect(rollout.devices())
    await rollout.advance()
    expect(countAll(await rollout.read(old.id))).toEqual({ deferred: 8 })
    expect(countAll(await rollout.create({ supersede: true }))).toEqual({})
    expect(countAll(await rollout.read(old.id))).toEqual({ deferred: 8 })
  })

  it('leaves failed devices where they are, and a retry of the old one leaves what was taken over', async () => {
    const old = await rollout.create({ strategy: 'serial', max_failure_percentage: 100 })
    await rollout.advance()
    await rollout.fleet.answer(() => 'refuses_content')
    await rollout.advance()
    expect(countAll(await rollout.read(old.id))).toMatchObject({ failed: 2 })
    await rollout.fleet.answer(() => 'silent')
    const young = await rollout.create({ supersede: true })
    await expectConsistent(rollout.ctx)
    const retry = await retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id: old.id, macs: null })
    const reasons = retry.skipped.map(({ reason }) => reason)
    expect([retry.retried, new Set(reasons)]).toEqual([0, new Set([expect.stringMatching(/^in upgrade /)])])
    await rollout.play()
    await expectConsistent(rollout.ctx)
    expect(countAll(await rollout.read(young.id))).toEqual({ upgraded: 6 })
  })

  it('and others that do so at once, beside the engine and a retry, meet no deadlock and lose no device', async () => {
    await rollout.create({ ...canary, start_datetime: '2026-03-02T12:00:00Z' })
    const failed = await rollout.create({ strategy: 'big_bang' })
    for (let round = 0; round < 8; round += 1) {
      await Promise.all([
        rollout.create({ supersede: true, strategy: 'big_bang', force: true }),
        rollout.create({ supersede: true, ...canary, force: true }),
        rollout.create({ supersede: true, strategy: 'serial', force: true }),
        rollout.advance(),
        retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id: failed.id, macs: null }),
      ])
      await expectConsistent(rollout.ctx)
      const open = (await rollout.ctx.db.selectFrom('upgradeTarget').select('state').execute()).filter(
        ({ state }) => !isTerminal(state),
      )
      expect(open).toHaveLength(8)
    }
    await rollout.play()
    await expectConsistent(rollout.ctx)
    expect([...rollout.fleet.flashes.values()]).toEqual(Array.from({ length: 8 }, () => 1))
  })

  it('lets a site whose other devices were upgraded end as completed, and its report say what it lost', async () => {
    await rollout.seed([4])
    const phase_gates = [{ phase: 1, wait_for: 'pause' as const }]
    const old = await rollout.create({ ...canary, phase_gates })
    await rollout.play()
    expect(countAll(await rollout.read(old.id))).toEqual({ upgraded: 2, planned: 2 })
    const young = await rollout.create({ supersede: true, force: true })
    expect(await rollout.read(old.id)).toMatchObject({ siteUpgrades: [{ hold: null }] })
    await rollout.play()
    const { siteUpgrades } = await rollout.read(old.id)
    expect(siteUpgrades.map(({ status }) => status)).toEqual(['completed'])
    expect(countAll(await rollout.read(old.id))).toEqual({ upgraded: 2, cancelled: 2 })
    expect(countAll(await rollout.read(young.id))).toMatchObject({ upgraded: 4 })
    const { ctx, org } = rollout
    const summary = await findSummary(ctx.db, org.scope, await getReported(ctx.db, org.scope, old.id))
    expect(presentSummary(summary)).toMatchObject({ status: 'completed', upgraded: 2, cancelled: 2 })
    const { decisions } = presentSummary(summary)
    expect(decisions.filter(({ type }) => type === 'UPGRADE_DEVICES_TAKEN')).toMatchObject([
      { total: 2, reason: `taken over by upgrade ${young.id}` },
    ])
    await expectConsistent(ctx)
  })

  describe('and leaves to the old one devices that have their image already', () => {
    /** Begins with one device at each site, which then has its image. */
    async function beginSerial() {
      const { id } = await rollout.create({ strategy: 'serial' })
      await rollout.advance()
      await rollout.fleet.answer(() => 'fetches')
      await rollout.advance()
      expect(countAll(await rollout.read(id))).toEqual({ downloading: 2, planned: 6 })
      return { id, begun: rollout.devices().filter((device) => rollout.fleet.attempts.has(device.id)) }
    }
    const cancel = (id: string) => cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    async function finish(devices: readonly SeededDevice[]): Promise<void> {
      await rollout.fleet.disconnect(devices)
      await rollout.fleet.connect(devices, NEW)
      await rollout.play()
      await expectConsistent(rollout.ctx)
    }

    it('lets a cancellation that comes too late for these end it as completed', async () => {
      const { id, begun } = await beginSerial()
      await rollout.create({ supersede: true, start_datetime: '2026-03-02T12:00:00Z' })
      await cancel(id)
      await finish(begun)
      expect(countAll(await rollout.read(id))).toEqual({ upgraded: 2, cancelled: 6 })
      const completed = { status: 'completed', stopReason: null }
      expect((await rollout.read(id)).siteUpgrades).toMatchObject([completed, completed])
      const ends = await rollout.ctx.db
        .selectFrom('upgradeEvent')
        .select('event')
        .where('orgUpgradeId', '=', id)
        .execute()
      expect(ends.flatMap(({ event }) => ('status' in event ? [event.status] : []))).toEqual(
        Array.from({ length: 3 }, () => 'completed'),
      )
    })

    it('takes nothing from a cancellation that came before it', async () => {
      const { id, begun } = await beginSerial()
      await cancel(id)
      // The engine has not ended the targets yet.
      await rollout.create({ supersede: true, start_datetime: '2026-03-02T12:00:00Z' })
      await finish(begun)
      expect(countAll(await rollout.read(id))).toEqual({ upgraded: 2, cancelled: 6 })
      expect(statusOf(await rollout.read(id))).toEqual(['cancelled', 'cancelled'])
    })

    it('counts a device that has left no more than one that was taken over', async () => {
      const { id, begun } = await beginSerial()
      const [left, ...others] = rollout.devices().filter((device) => !begun.includes(device))
      const { db } = rollout.ctx
      await db
        .updateTable('device')
        .set({ name: 'taken' })
        .where(
          'id',
          'in',
          others.map((one) => one.id),
        )
        .execute()
      await rollout.create({
        supersede: true,
        rules: [{ match_name: 'taken' }],
        start_datetime: '2026-03-02T12:00:00Z',
      })
      await db
        .deleteFrom('device')
        .where('id', '=', left?.id ?? '')
        .execute()
      await cancel(id)
      await finish(begun)
      expect(countAll(await rollout.read(id))).toEqual({ upgraded: 2, cancelled: 6 })
      expect(statusOf(await rollout.read(id))).toEqual(['completed', 'completed'])
    })
  })

  it.each([
    ['approval', 'approval'],
    ['pause', 'gate'],
  ] as const)('opens no phase behind one that it empties before the %s that its gate demands', async (wait, by) => {
    const phase_gates = [{ phase: 1, wait_for: wait }]
    const old = await rollout.create({ ...canary, phase_gates, start_datetime: '2026-03-02T12:00:00Z' })
    const young = await takePhase(old.id, 1)
    await rollout.play()
    await expectConsistent(rollout.ctx)
    expect(countAll(await rollout.read(young.id))).toEqual({ upgraded: 4 })
    rollout.clock.advance(24 * 3600_000)
    await rollout.play()
    expect(countAll(await rollout.read(old.id))).toEqual({ cancelled: 4, planned: 4 })
    const { siteUpgrades } = await rollout.read(old.id)
    const reason = expect.stringMatching(/^phase 1 has no devices/) as string
    expect(siteUpgrades.flatMap(({ hold }) => hold ?? [])[0]).toMatchObject({ by, reason })
    const { ctx, org } = rollout
    const report = presentSummary(await findSummary(ctx.db, org.scope, await getReported(ctx.db, org.scope, old.id)))
    expect(report.phases).toMatchObject([{ phase: 1, total: 0, gate: { wait_for: wait, passed: false } }, { total: 4 }])
    if (wait === 'approval') await approveOrgUpgrade(ctx, org.scope, { id: old.id, phase: 1, note: null })
    else await resumeOrgUpgrade(ctx, org.scope, old.id)
    await rollout.play()
    await expectConsistent(ctx)
    expect(countAll(await rollout.read(old.id))).toEqual({ cancelled: 4, upgraded: 4 })
  })

  it('leaves an emptied phase in the report of the old one, where its gate is still to be opened', async () => {
    const phase_gates = [{ phase: 2, wait_for: 'approval' as const }]
    const start_datetime = '2026-03-02T12:00:00Z'
    const { id } = await rollout.create({ ...canary, canary_phases: [25, 50], phase_gates, start_datetime })
    await takePhase(id, 2)
    rollout.clock.advance(24 * 3600_000)
    await rollout.play()
    const { ctx, org } = rollout
    const report = async () =>
      presentSummary(await findSummary(ctx.db, org.scope, await getReported(ctx.db, org.scope, id)))
    const opened_at = expect.any(Number) as number
    const emptied = { phase: 2, total: 0, opened_at, ended_at: opened_at }
    expect((await report()).phases).toMatchObject([
      { phase: 1, total: 2, upgraded: 2 },
      { ...emptied, gate: { wait_for: 'approval', passed: false } },
      { phase: 3, total: 4, upgraded: 0 },
    ])
    await approveOrgUpgrade(ctx, org.scope, { id, phase: 2, note: null })
    await rollout.play()
    expect((await report()).phases).toMatchObject([
      {},
      { ...emptied, gate: { passed: true, opened_by: { by: 'approval' } } },
      { upgraded: 4 },
    ])
  })
})
