import { describe, expect, it } from 'vitest'
import { excludeDevices } from '../../../src/upgrades/changes/exclude-devices.ts'
import { listHeldUpgrades } from '../../../src/upgrades/alarms/store.ts'
import { cancelOrgUpgrade } from '../../../src/upgrades/changes/cancel-org-upgrade.ts'
import { pauseOrgUpgrade } from '../../../src/upgrades/changes/pause-org-upgrade.ts'
import { resumeOrgUpgrade } from '../../../src/upgrades/changes/resume-org-upgrade.ts'
import { retryOrgUpgrade } from '../../../src/upgrades/changes/retry-org-upgrade.ts'
import { includeAll } from '../../../src/upgrades/include-new.worker.ts'
import { getUpgradeTarget } from '../../../src/upgrades/targets/store.ts'
import type { OrgUpgradeBody } from '../../../src/upgrades/wire.ts'
import { listFwUpdates } from '../../support/fleets/device-upgrades.ts'
import { NEW, type Reply, type SeededDevice } from '../../support/fleets/fleet.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countAll, options, statusOf, useRollout } from '../harness.ts'
import { subscribe } from '../subscribe.ts'

const rollout = useRollout()
const later = '2026-03-02T12:00:00Z'
const by = (): string => rollout.org.scope.actor.name

async function exclude(id: string, devices: readonly (SeededDevice | undefined)[], note: string | null = null) {
  const macs = devices.flatMap((device) => device?.mac ?? [])
  const exclusion = await excludeDevices(rollout.ctx, rollout.org.scope, { id, macs, note })
  await expectConsistent(rollout.ctx)
  return exclusion
}

async function play(reply?: Parameters<typeof rollout.play>[0]): Promise<void> {
  await rollout.play(reply)
  await expectConsistent(rollout.ctx)
}

const staged = { commands: ['stage', 'activate'], restart_members: [], restart_nodes: [] } as const

/** Lists the devices of the first phase. */
async function listFirst(): Promise<SeededDevice[]> {
  const first = await rollout.ctx.db.selectFrom('upgradeTarget').select('deviceId').where('phase', '=', 1).execute()
  return rollout.devices().filter(({ id }) => first.some(({ deviceId }) => deviceId === id))
}

interface Course {
  readonly body?: OrgUpgradeBody
  readonly isStaged?: boolean
  readonly reply?: Reply
  readonly offline?: boolean
  readonly isPaused?: boolean
}

describe('a device that is excluded', () => {
  it.each<[string, Course]>([
    ['planned', { body: { start_datetime: later } }],
    ['deferred', { offline: true }],
    ['planned', { reply: 'loses_early', isPaused: true }],
    ['dl_requested', {}],
    ['dl_requested', { reply: 'silent' }],
    ['dl_requested', { isStaged: true, reply: 'silent' }],
    ['downloaded', { isStaged: true, reply: 'does', body: { reboot_datetime: later } }],
  ])('while it is %s is free at once and is commanded no more; the others go on (%o)', async (state, course) => {
    const { body, isStaged = false, reply, offline = false, isPaused = false } = course
    const [first, second] = await rollout.seed([{ devices: 2, ...(isStaged && { capabilities: staged }) }], {
      online: !offline,
    })
    const { ctx, org, fleet } = rollout
    const { id } = await rollout.create({ strategy: 'big_bang', ...body })
    await rollout.advance()
    if (isPaused) await pauseOrgUpgrade(ctx, org.scope, id)
    if (reply !== undefined) await fleet.answer(() => reply)
    await rollout.advance()
    expect(countAll(await rollout.read(id))).toEqual({ [state]: 2 })
    const attempts = fleet.attempts.get(first?.id ?? '')
    expect(await exclude(id, [first], 'the rack moves')).toEqual({ excluded: 1, skipped: [] })
    expect(countAll(await rollout.read(id))).toEqual({ [state]: 1, cancelled: 1 })
    expect((await listFwUpdates(ctx.db)).filter((shown) => shown === null)).toHaveLength(1)
    if (isPaused) await resumeOrgUpgrade(ctx, org.scope, id)
    if (offline) await fleet.connect([first, second].flatMap((one) => one ?? []))
    if (body !== undefined) rollout.clock.advance(24 * 3600_000)
    rollout.clock.advance(options.retryMs)
    if (reply === 'silent' && second !== undefined) {
      await fleet.disconnect([second])
      await fleet.connect([second], NEW)
    }
    await play()
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 1, cancelled: 1 })
    expect(statusOf(await rollout.read(id))).toEqual(['completed'])
    expect(fleet.attempts.get(first?.id ?? '')).toBe(attempts)
  })

  it('can be in another upgrade immediately, and the first upgrade no longer has it', async () => {
    const [first] = await rollout.seed([2])
    const { id } = await rollout.create({ start_datetime: later })
    await exclude(id, [first])
    const other = await rollout.create({ strategy: 'big_bang' })
    expect(countAll(other)).toEqual({ planned: 1 })
    await play()
    expect(countAll(await rollout.read(other.id))).toEqual({ upgraded: 1 })
    expect(countAll(await rollout.read(id))).toEqual({ planned: 1, cancelled: 1 })
  })

  it('does not join again by the search for further devices, nor by a retry', async () => {
    const [first] = await rollout.seed([2])
    const { ctx, org } = rollout
    const { id } = await rollout.create({ include_new: true, start_datetime: later })
    await exclude(id, [first])
    rollout.clock.advance(61_000)
    await includeAll(ctx)
    expect(countAll(await rollout.read(id))).toEqual({ planned: 1, cancelled: 1 })
    const retry = retryOrgUpgrade(ctx, org.scope, { id, macs: [first?.mac ?? ''] })
    await expect(retry).rejects.toThrow('has not failed, its state is cancelled')
  })

  it('is shown with who excluded it and why, and its exclusion is one decision with one audit record', async () => {
    const [first, second] = await rollout.seed([3])
    await subscribe(rollout)
    const { ctx, org } = rollout
    const { id } = await rollout.create({ start_datetime: later })
    await exclude(id, [first, second], 'the rack moves')
    const reason = `excluded by ${by()}: the rack moves`
    const target = await getUpgradeTarget(ctx.db, org.scope, { id, mac: first?.mac ?? '' })
    expect(target).toMatchObject({ state: 'cancelled', reason })
    const { steps } = target
    expect(steps.at(-1)).toEqual({ state: 'cancelled', at: rollout.clock.now(), reason })
    const audit = await ctx.db.selectFrom('auditLog').selectAll().where('message', 'like', 'Exclude %').execute()
    const macs = [first?.mac, second?.mac]
    expect(audit).toMatchObject([
      {
        message: `Exclude 2 devices from upgrade ${id}`,
        after: { id, total: 2, macs: expect.arrayContaining(macs) as string[], note: 'the rack moves' },
      },
    ])
    const outbox = await ctx.db.selectFrom('webhookOutbox').select('event').orderBy('id').execute()
    const events = outbox.map(({ event }) => event)
    expect(events).toMatchObject([
      { type: 'UPGRADE_CREATED' },
      { type: 'UPGRADE_DEVICES_EXCLUDED', total: 2, note: 'the rack moves', admin_name: by() },
      { type: 'UPGRADE_DEVICE_CANCELLED', reason },
      { type: 'UPGRADE_DEVICE_CANCELLED', reason },
    ])
    expect(ctx.metrics.encode([])).toContain('signalbox_upgrade_devices_ended_total{result="cancelled"} 2\n')
  })
})

describe('a device that can be excluded no more', () => {
  it.each<[string, Reply, string]>([
    ['has the image', 'fetches', 'installs the image or restarts'],
    ['restarts', 'does', 'installs the image or restarts'],
    ['has failed', 'refuses_content', 'has ended in this upgrade'],
    ['runs the version', 'upgrades', 'has ended in this upgrade'],
  ])('because it %s is named, and nothing changes', async (_, reply, reason) => {
    const [first] = await rollout.seed([2])
    const { id } = await rollout.create({ strategy: 'big_bang', max_failure_percentage: 100 })
    await rollout.advance()
    await rollout.fleet.answer(() => reply)
    await rollout.advance()
    const before = countAll(await rollout.read(id))
    expect(await exclude(id, [first])).toEqual({ excluded: 0, skipped: [{ mac: first?.mac, reason }] })
    expect(countAll(await rollout.read(id))).toEqual(before)
    expect(
      await rollout.ctx.db.selectFrom('auditLog').where('message', 'like', 'Exclude %').selectAll().execute(),
    ).toEqual([])
  })

  it('because it is in no target of the upgrade is refused, also beside one that is', async () => {
    const [first] = await rollout.seed([1])
    const { id } = await rollout.create({ start_datetime: later })
    const unknown = { mac: 'ffffffffffff' } as SeededDevice
    await expect(exclude(id, [first, unknown])).rejects.toThrow(
      'Invalid field macs.1: ffffffffffff is not a device of this upgrade',
    )
    expect(countAll(await rollout.read(id))).toEqual({ planned: 1 })
  })
})

describe('an upgrade', () => {
  const canary = { strategy: 'canary', canary_phases: [50] }

  it('without remaining devices ends as cancelled, or by the results that it has', async () => {
    const all = await rollout.seed([2, 2])
    const idle = await rollout.create({ start_datetime: later })
    await exclude(idle.id, all, 'not today')
    await rollout.advance()
    const { siteUpgrades } = await rollout.read(idle.id)
    expect(siteUpgrades.map(({ status, stopReason }) => [status, stopReason])).toEqual(
      [1, 2].map(() => ['cancelled', `excluded by ${by()}: not today`]),
    )
    const { id } = await rollout.create({ strategy: 'serial' })
    await rollout.advance()
    await rollout.fleet.answer()
    await rollout.advance()
    const left = all.filter((device) => !rollout.fleet.flashes.has(device.id))
    expect(left).toHaveLength(2)
    await exclude(id, left)
    await play()
    expect(statusOf(await rollout.read(id))).toEqual(['completed', 'completed'])
  })

  it.each([false, true])(
    'that waits for an approval waits no more once it has ended, in different ways at its sites; paused meanwhile: %s',
    async (isPaused) => {
      const all = await rollout.seed([2, 2])
      const { ctx, org } = rollout
      const { id } = await rollout.create({
        strategy: 'canary',
        canary_phases: [25, 100],
        phase_gates: [{ phase: 1, wait_for: 'approval' }],
      })
      await play()
      expect(await listHeldUpgrades(ctx.db)).toMatchObject([{ upgradeId: id }])
      await exclude(
        id,
        all.filter((device) => !rollout.fleet.flashes.has(device.id)),
      )
      if (isPaused) await pauseOrgUpgrade(ctx, org.scope, id)
      await play()
      expect(statusOf(await rollout.read(id)).toSorted()).toEqual(['cancelled', 'completed'])
      expect(await ctx.db.selectFrom('orgUpgrade').select('hold').execute()).toEqual([{ hold: null }])
      expect(await listHeldUpgrades(ctx.db)).toEqual([])
    },
  )

  it('opens its next phase once a person excludes the device that it waits for', async () => {
    await rollout.seed([4])
    const { id } = await rollout.create({ ...canary, canary_phases: [50, 100] })
    const [slow] = await listFirst()
    const reply = (device: SeededDevice): Reply => (device === slow ? 'silent' : 'upgrades')
    await play(reply)
    expect(countAll(await rollout.read(id))).toEqual({ dl_requested: 1, upgraded: 1, planned: 2 })
    await exclude(id, [slow])
    await play(reply)
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 3, cancelled: 1 })
    expect(statusOf(await rollout.read(id))).toEqual(['completed'])
  })

  it('judges a phase by the devices that it still has', async () => {
    await rollout.seed([8])
    const limits = { min_success_percentage: 75, max_failure_percentage: 100 }
    const { id } = await rollout.create({ ...canary, ...limits, start_datetime: later })
    await exclude(id, (await listFirst()).slice(0, 2))
    rollout.clock.advance(24 * 3600_000)
    await play()
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 6, cancelled: 2 })
    expect(statusOf(await rollout.read(id))).toEqual(['completed'])
  })

  it.each<[string, OrgUpgradeBody]>([
    ['canary', canary],
    ['serial', { strategy: 'serial' }],
    ['downloads in phases', { download_strategy: 'canary', reboot_strategy: 'canary', reboot_datetime: later }],
    ['phases by site', { ...canary, phase_scope: 'site', max_in_flight: 2 }],
  ])('that loses devices one by one ends, with counters that are right in every state: %s', async (_, body) => {
    const all = await rollout.seed([{ devices: 4, capabilities: staged }, { devices: 4 }])
    const { id } = await rollout.create({ ...body, max_failure_percentage: 100 })
    for (const device of all.filter((_one, index) => index % 4 !== 3)) {
      await rollout.advance()
      await rollout.fleet.answer(({ id: own }) => (own === device.id ? 'silent' : 'upgrades'))
      await rollout.advance()
      await exclude(id, [device])
      rollout.clock.advance(1000)
    }
    rollout.clock.advance(24 * 3600_000)
    await play()
    const { cancelled = 0, upgraded = 0, ...others } = countAll(await rollout.read(id))
    expect(others).toEqual({})
    expect([cancelled > 0, cancelled + upgraded]).toEqual([true, 8])
    expect(statusOf(await rollout.read(id))).toEqual(['completed', 'completed'])
  })

  it('that is being cancelled, or is changed by the engine at the same time, loses no device twice', async () => {
    const all = await rollout.seed([6])
    const { ctx, org } = rollout
    const { id } = await rollout.create({ strategy: 'big_bang' })
    await rollout.advance()
    const macsOf = (from: number, to: number): string[] => all.slice(from, to).map(({ mac }) => mac)
    await Promise.all([
      excludeDevices(ctx, org.scope, { id, macs: macsOf(0, 2), note: null }),
      excludeDevices(ctx, org.scope, { id, macs: macsOf(1, 3), note: null }),
      rollout.advance(),
      rollout.create({ supersede: true, version: NEW }),
    ])
    await cancelOrgUpgrade(ctx, org.scope, id)
    await exclude(id, all.slice(3, 4))
    await play()
    expect(countAll(await rollout.read(id))).toEqual({ cancelled: 6 })
  })
})
