import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { cancelOrgUpgrade } from '../../../src/upgrades/changes/cancel-org-upgrade.ts'
import { pauseOrgUpgrade } from '../../../src/upgrades/changes/pause-org-upgrade.ts'
import { resumeOrgUpgrade } from '../../../src/upgrades/changes/resume-org-upgrade.ts'
import { type Retry, retryOrgUpgrade } from '../../../src/upgrades/changes/retry-org-upgrade.ts'
import { giveToUpgrade } from '../../support/fleets/device-upgrades.ts'
import { NEW, type Reply, type SeededDevice } from '../../support/fleets/fleet.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countAll, statusOf, useRollout } from '../harness.ts'

const rollout = useRollout()
beforeEach(() => rollout.seed([{ devices: 10, name: 'Lab' }, 10]))

async function play(reply?: (device: SeededDevice) => Reply): Promise<void> {
  await rollout.play(reply)
  await expectConsistent(rollout.ctx)
}

async function retry(id: string, macs: readonly string[] | null = null): Promise<Retry> {
  const retried = await retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id, macs })
  await expectConsistent(rollout.ctx)
  return retried
}

async function read(id: string) {
  const upgrade = await rollout.read(id)
  const [first] = upgrade.siteUpgrades
  return { status: statusOf(upgrade), counts: countAll(upgrade), hold: first?.hold, stopReason: first?.stopReason }
}

const runs = () =>
  rollout.ctx.db
    .selectFrom('upgradeTargetRun')
    .select(['deviceId', 'run', 'reason', 'attempt'])
    .orderBy('run')
    .execute()

const unlike = (bad: readonly SeededDevice[], reply: Reply) => (device: SeededDevice) =>
  bad.some(({ id }) => id === device.id) ? reply : 'upgrades'

it('an upgrade that has ended continues with its failed devices, boots each once more, and keeps how they failed', async () => {
  const bad = [...rollout.devices(0).slice(0, 2), ...rollout.devices(1).slice(0, 1)]
  const { id } = await rollout.create({ reboot_strategy: 'big_bang' })
  await play(unlike(bad, 'keeps_old'))
  expect(await read(id)).toMatchObject({ status: ['completed', 'completed'], counts: { upgraded: 17, failed: 3 } })
  const before = new Map(rollout.fleet.flashes)
  expect(await retry(id)).toEqual({ retried: 3, skipped: [] })
  expect(await read(id)).toMatchObject({ status: ['upgrading', 'upgrading'], counts: { upgraded: 17, planned: 3 } })
  await play()
  expect(await read(id)).toMatchObject({ status: ['completed', 'completed'], counts: { upgraded: 20 } })
  for (const { id: deviceId } of rollout.devices()) {
    const more = bad.some((one) => one.id === deviceId) ? 1 : 0
    expect(rollout.fleet.flashes.get(deviceId)).toBe((before.get(deviceId) ?? 0) + more)
  }
  const failedRuns = await runs()
  expect(failedRuns.map(({ run, reason }) => ({ run, reason }))).toEqual(
    bad.map(() => ({ run: 1, reason: 'not_applied' })),
  )
  expect(await retry(id)).toEqual({ retried: 0, skipped: [] })
  expect(await read(id)).toMatchObject({ status: ['completed', 'completed'] })
})

it('a device whose image was deleted since is not retried', async () => {
  const { ctx, org } = rollout
  const { id } = await rollout.create({ reboot_strategy: 'big_bang' })
  await play(() => 'refuses_content')
  const macs = rollout.devices().map(({ mac }) => mac)
  await ctx.db.deleteFrom('firmwareImage').where('orgId', '=', org.scope.orgId).execute()
  const { retried, skipped } = await retry(id)
  expect([retried, skipped.map(({ mac }) => mac).toSorted()]).toEqual([0, macs.toSorted()])
  expect(new Set(skipped.map(({ reason }) => reason))).toEqual(new Set(['its firmware image was deleted']))
})

it('a device fails again and is retried again; its earlier runs do not change', async () => {
  const [bad] = rollout.devices()
  if (bad === undefined) throw new Error('no device')
  const { id } = await rollout.create({ reboot_strategy: 'big_bang' })
  await play(unlike([bad], 'refuses_content'))
  await retry(id, [bad.mac])
  const first = await runs()
  await play(unlike([bad], 'keeps_old'))
  await retry(id, [bad.mac])
  const [one, two, ...rest] = await runs()
  expect([one]).toEqual(first)
  expect([one?.reason, two?.reason, rest]).toEqual(['Invalid signature', 'not_applied', []])
  await play()
  expect((await read(id)).counts).toEqual({ upgraded: 20 })
})

it('a device that has recovered with the version counts as upgraded without another boot', async () => {
  const [lost] = rollout.devices()
  if (lost === undefined) throw new Error('no device')
  const { id } = await rollout.create({ reboot_strategy: 'big_bang' })
  await play(unlike([lost], 'dies'))
  for (let hour = 0; hour < 4; hour += 1) {
    rollout.clock.advance(3600e3)
    await rollout.advance()
  }
  expect((await read(id)).counts).toEqual({ upgraded: 19, failed: 1 })
  await rollout.fleet.connect([lost], NEW)
  const sent = rollout.fleet.attempts.get(lost.id)
  await retry(id)
  await play()
  expect((await read(id)).counts).toEqual({ upgraded: 20 })
  expect(rollout.fleet.attempts.get(lost.id)).toBe(sent)
})

describe.each(['org', 'site'] as const)('with phases of the %s', (scope) => {
  const canary = { reboot_strategy: 'canary', canary_phases: [10, 100], phase_scope: scope }

  it('a gate that paused the upgrade is evaluated again', async () => {
    const { id } = await rollout.create({ ...canary, max_failure_percentage: 20 })
    await play(() => 'keeps_old')
    expect(await read(id)).toMatchObject({ hold: { by: 'gate' }, counts: { failed: 2, planned: 18 } })
    await retry(id)
    await play(() => 'keeps_old')
    expect(await read(id)).toMatchObject({ hold: { by: 'gate' }, counts: { failed: 2, planned: 18 } })
    await retry(id)
    expect((await read(id)).hold).toBeNull()
    await play()
    expect(await read(id)).toMatchObject({ status: ['completed', 'completed'], counts: { upgraded: 20 } })
    expect([...rollout.fleet.flashes.values()].filter((count) => count === 3)).toHaveLength(2)
  })

  it('an upgrade that a limit stopped stays failed for what it cancelled, and is stopped by no failure that is retried', async () => {
    const { id } = await rollout.create({ ...canary, max_failure_percentage: 0 })
    await play(() => 'keeps_old')
    const { status, counts, stopReason } = await read(id)
    expect(status).toEqual(['failed', 'failed'])
    expect(counts.failed).toBeGreaterThan(1)
    const [{ mac } = { mac: '' }] = await rollout.ctx.db
      .selectFrom('upgradeTarget')
      .select('mac')
      .where('state', '=', 'failed')
      .execute()
    await expect(retry(id, [mac])).rejects.toThrow(/^The upgrade would stop again at once: more than 0 % of/)
    expect(await read(id)).toMatchObject({ status, counts, stopReason })
    await retry(id)
    // A site without failed devices is not retried.
    const sites = (await rollout.read(id)).siteUpgrades.map((site) => [site.status, site.stopReason === null])
    expect(sites).toContainEqual(['upgrading', true])
    for (const [now, isOpen] of sites) expect(isOpen).toBe(now === 'upgrading')
    await play()
    expect(await read(id)).toMatchObject({
      status: ['failed', 'failed'],
      counts: { upgraded: counts.failed, cancelled: counts.cancelled },
      stopReason,
    })
  })
})

it("a person's pause stays until the upgrade is resumed", async () => {
  const { id } = await rollout.create({ reboot_strategy: 'serial', max_failure_percentage: 100 })
  await rollout.advance()
  await rollout.fleet.answer(() => 'refuses_content')
  await rollout.advance()
  await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  await play()
  expect((await read(id)).counts).toEqual({ failed: 2, planned: 18 })
  await retry(id)
  await play()
  expect(await read(id)).toMatchObject({ hold: { by: 'user' }, counts: { planned: 20 } })
  await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  await play()
  expect((await read(id)).counts).toEqual({ upgraded: 20 })
})

it('no device is retried that another upgrade has, that was removed, or whose upgrade was cancelled', async () => {
  const [busy, gone, other] = rollout.devices()
  if (busy === undefined || gone === undefined || other === undefined) throw new Error('no devices')
  const { id } = await rollout.create({ reboot_strategy: 'big_bang' })
  await play(unlike([busy, gone, other], 'keeps_old'))
  const { ctx } = rollout
  await ctx.db.deleteFrom('device').where('id', '=', gone.id).execute()
  await giveToUpgrade(ctx.db, busy.id)
  expect(await retryOrgUpgrade(ctx, rollout.org.scope, { id, macs: null })).toEqual({
    retried: 1,
    skipped: expect.arrayContaining([
      { mac: busy.mac, reason: expect.stringMatching(/^in upgrade /) },
      { mac: gone.mac, reason: 'removed from the organization' },
    ]),
  })
  await cancelOrgUpgrade(ctx, rollout.org.scope, id)
  await rollout.advance()
  await rollout.advance()
  const [first] = (await retryOrgUpgrade(ctx, rollout.org.scope, { id, macs: [busy.mac] })).skipped
  expect(first).toEqual({ mac: busy.mac, reason: 'the upgrade of its site was cancelled' })
})

it('a cancelled upgrade is retried at the sites where it had ended', async () => {
  const bad = [...rollout.devices(0).slice(0, 1), ...rollout.devices(1).slice(0, 1)]
  const { id } = await rollout.create({ reboot_strategy: 'big_bang' })
  await play(unlike(bad, 'keeps_old'))
  const [again] = bad.map(({ mac }) => mac)
  await retry(id, again === undefined ? [] : [again])
  await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  await play()
  expect(await read(id)).toMatchObject({
    status: ['cancelled', 'completed'],
    counts: { upgraded: 18, failed: 1, cancelled: 1 },
  })
  expect(await retry(id)).toEqual({ retried: 1, skipped: [] })
  await play()
  expect(await read(id)).toMatchObject({ status: ['cancelled', 'completed'], counts: { upgraded: 19, cancelled: 1 } })
})

it('an upgrade that a limit stopped, and that has lost its other devices, is completed by a retry', async () => {
  const { id } = await rollout.create({ reboot_strategy: 'serial', max_failure_percentage: 0 })
  await rollout.advance()
  const later = await rollout.create({ supersede: true, start_datetime: '2026-03-02T12:00:00Z' })
  await play(() => 'keeps_old')
  const reason = expect.stringContaining('more than 0 % of') as string
  expect(await read(id)).toMatchObject({
    status: ['failed', 'failed'],
    counts: { failed: 2, cancelled: 18 },
    stopReason: reason,
  })
  await retry(id)
  await play()
  expect(await read(id)).toMatchObject({
    status: ['completed', 'completed'],
    counts: { upgraded: 2, cancelled: 18 },
    stopReason: null,
  })
  expect(countAll(await rollout.read(later.id))).toEqual({ planned: 18 })
})

it('a retry is written as a whole or not at all, and the engine continues it after a crash', async () => {
  const { id } = await rollout.create({ reboot_strategy: 'big_bang' })
  await play(() => 'keeps_old')
  const before = await read(id)
  const { ctx } = rollout
  // The last of the writes fails.
  await sql`alter table audit_log add constraint broken check (message not like 'Retry%')`.execute(ctx.db)
  await expect(retryOrgUpgrade(ctx, rollout.org.scope, { id, macs: null })).rejects.toThrow(/broken/)
  await sql`alter table audit_log drop constraint broken`.execute(ctx.db)
  expect(await read(id)).toEqual(before)
  expect(await runs()).toEqual([])
  await retry(id)
  await rollout.advance()
  await rollout.fleet.crash(rollout.devices())
  await play()
  expect((await read(id)).counts).toEqual({ upgraded: 20 })
  expect([...rollout.fleet.flashes.values()].every((count) => count === 2)).toBe(true)
})
