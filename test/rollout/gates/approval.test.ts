import { beforeEach, expect, it } from 'vitest'
import { uuidv7 } from 'uuidv7'
import { actorScope } from '../../../src/access/scope.ts'
import { addMs } from '../../../src/platform/time/clock.ts'
import { approveOrgUpgrade } from '../../../src/upgrades/changes/approve-org-upgrade.ts'
import { includeAll } from '../../../src/upgrades/include-new.worker.ts'
import { cancelOrgUpgrade } from '../../../src/upgrades/changes/cancel-org-upgrade.ts'
import { pauseOrgUpgrade } from '../../../src/upgrades/changes/pause-org-upgrade.ts'
import { resumeOrgUpgrade } from '../../../src/upgrades/changes/resume-org-upgrade.ts'
import { retryOrgUpgrade } from '../../../src/upgrades/changes/retry-org-upgrade.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countAll, statusOf, useRollout } from '../harness.ts'

const rollout = useRollout()
beforeEach(() => rollout.seed([5, 5]))

async function play(reply?: Parameters<typeof rollout.play>[0]): Promise<void> {
  await rollout.play(reply)
  await expectConsistent(rollout.ctx)
}

async function read(id: string) {
  const upgrade = await rollout.read(id)
  const holds = upgrade.siteUpgrades.map(({ hold }) => hold?.by ?? null)
  return { status: statusOf(upgrade), counts: countAll(upgrade), holds, approvals: upgrade.approvals }
}

const startGate = { phase: 0, wait_for: 'approval' } as const

const create = (gates: readonly { readonly phase: number; readonly wait_for: 'approval' | 'pause' }[], more = {}) =>
  rollout.create({ reboot_strategy: 'canary', canary_phases: [20, 50, 100], phase_gates: [...gates], ...more })

const approve = (id: string, phase: number) =>
  approveOrgUpgrade(rollout.ctx, rollout.org.scope, { id, phase, note: 'looks good' })

it('each phase waits for its approval at all sites, also over a restart, and the record shows who gave it', async () => {
  const { id } = await create([1, 2].map((phase) => ({ phase, wait_for: 'approval' })))
  await play()
  expect(await read(id)).toMatchObject({ counts: { upgraded: 2, planned: 8 }, holds: ['approval', 'approval'] })
  // Only the database records the wait.
  await rollout.fleet.crash(rollout.devices().filter(({ id: deviceId }) => !rollout.fleet.attempts.has(deviceId)))
  await play()
  expect(rollout.fleet.attempts.size).toBe(2)
  await approve(id, 1)
  await play()
  expect(await read(id)).toMatchObject({ counts: { upgraded: 5, planned: 5 }, holds: ['approval', 'approval'] })
  await expect(approve(id, 1)).rejects.toThrow('Invalid field phase: is 1, but phase 2 waits for an approval')
  await approve(id, 2)
  await play()
  const by = { by: 'approval', name: rollout.org.scope.actor.name, note: 'looks good' }
  expect(await read(id)).toMatchObject({
    status: ['completed', 'completed'],
    counts: { upgraded: 10 },
    approvals: [
      { phase: 1, ...by },
      { phase: 2, ...by },
    ],
  })
})

it('a requested pause ends when somebody resumes the upgrade, which the record shows too', async () => {
  const { id } = await create([{ phase: 1, wait_for: 'pause' }])
  await play()
  expect(await read(id)).toMatchObject({ counts: { upgraded: 2, planned: 8 }, holds: ['gate', 'gate'] })
  await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  await play()
  expect(await read(id)).toMatchObject({
    counts: { upgraded: 10 },
    approvals: [{ phase: 1, by: 'resume', note: null }],
  })
})

it('an upgrade resumed after too many failures still waits for the approval, and can be retried before it', async () => {
  const { id } = await create([{ phase: 1, wait_for: 'approval' }], { max_failures: [2, 2, 2] })
  await play(() => 'keeps_old')
  expect(await read(id)).toMatchObject({ counts: { failed: 2, planned: 8 }, holds: ['approval', 'approval'] })
  await expect(resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)).rejects.toThrow(/waits for an approval/)
  await retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id, macs: null })
  await play()
  expect(await read(id)).toMatchObject({ counts: { upgraded: 2, planned: 8 }, holds: ['approval', 'approval'] })
  await approve(id, 1)
  await play()
  expect(await read(id)).toMatchObject({ counts: { upgraded: 10 } })
})

it('a phase of an upgrade that a person has paused is approved after it is resumed', async () => {
  const { id } = await create([{ phase: 1, wait_for: 'approval' }])
  await play()
  await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  await expect(approve(id, 1)).rejects.toThrow(
    /^The phase can't be approved: the upgrade is paused by .*resume it first$/,
  )
  await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  await play()
  expect(await read(id)).toMatchObject({ counts: { upgraded: 2, planned: 8 }, holds: ['approval', 'approval'] })
  await approve(id, 1)
  await play()
  expect(await read(id)).toMatchObject({ counts: { upgraded: 10 } })
})

it('an upgrade that waits for an approval ends when it is cancelled', async () => {
  const { id } = await create([{ phase: 1, wait_for: 'approval' }])
  await play()
  await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  await play()
  expect(await read(id)).toMatchObject({ status: ['cancelled', 'cancelled'], counts: { upgraded: 2, cancelled: 8 } })
})

it.each(['big_bang', 'serial', 'canary'] as const)(
  'a %s upgrade begins only once its start is approved',
  async (strategy) => {
    const { id, siteUpgrades } = await rollout.create({ strategy, phase_gates: [startGate] })
    const hold = { by: 'approval', reason: 'its start waits for an approval', phase: 0 }
    expect(siteUpgrades).toMatchObject([
      { status: 'queued', hold },
      { status: 'queued', hold },
    ])
    expect(rollout.ctx.metrics.encode([])).toContain('signalbox_upgrade_holds_total{by="approval"} 1\n')
    await play()
    await rollout.fleet.crash(rollout.devices())
    await play()
    expect(await read(id)).toMatchObject({ status: ['queued', 'queued'], counts: { planned: 10 } })
    await expect(approve(id, 1)).rejects.toThrow('is 1, but the start (phase 0) waits for an approval')
    await approve(id, 0)
    await play()
    const approvals = [{ phase: 0, by: 'approval', name: rollout.org.scope.actor.name, note: 'looks good' }]
    expect(await read(id)).toMatchObject({ counts: { upgraded: 10 }, approvals })
    await expect(approve(id, 0)).rejects.toThrow('no phase of the upgrade waits for an approval')
  },
)

it('an upgrade with a later start may be approved before, and begins at the later of both', async () => {
  const start = { start_datetime: addMs(rollout.clock.now(), 3600e3).toISOString() }
  const [early, late] = [
    await rollout.create({
      site_ids: [rollout.org.sites[0]?.id ?? ''],
      all_sites: false,
      ...start,
      phase_gates: [startGate],
    }),
    await rollout.create({
      site_ids: [rollout.org.sites[1]?.id ?? ''],
      all_sites: false,
      ...start,
      phase_gates: [startGate],
    }),
  ]
  await approve(early.id, 0)
  await play()
  expect(rollout.fleet.attempts.size).toBe(0)
  rollout.clock.advance(3600e3)
  await rollout.fleet.connect(rollout.devices())
  await play()
  expect([await read(early.id), await read(late.id)]).toMatchObject([
    { counts: { upgraded: 5 } },
    { counts: { planned: 5 }, holds: ['approval'] },
  ])
  await approve(late.id, 0)
  await play()
  expect(await read(late.id)).toMatchObject({ counts: { upgraded: 5 } })
})

it('a phase that needs several approvals opens with the last of them, also after a pause in between', async () => {
  const { id } = await rollout.create({
    reboot_strategy: 'canary',
    canary_phases: [20, 100],
    phase_gates: [{ phase: 1, wait_for: 'approval', approvals: 2 }],
  })
  await play()
  const approveAs = (name: string) => {
    const person = actorScope({ adminId: uuidv7(), name, srcIp: null, userAgent: null }, rollout.org.scope.orgId)
    return approveOrgUpgrade(rollout.ctx, person, { id, phase: 1, note: null })
  }
  await approveAs('Ada')
  const hold = {
    by: 'approval',
    reason: 'phase 1 ended and waits for 1 of 2 approvals by different people',
    missing: 1,
  }
  expect((await rollout.read(id)).siteUpgrades).toMatchObject([{ hold }, { hold }])
  await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  await play()
  expect((await rollout.read(id)).siteUpgrades).toMatchObject([{ hold }, { hold }])
  expect(await read(id)).toMatchObject({ counts: { upgraded: 2, planned: 8 } })
  await approveAs('Grace')
  await play()
  expect(await read(id)).toMatchObject({ counts: { upgraded: 10 }, approvals: [{ name: 'Ada' }, { name: 'Grace' }] })
})

it('a pause before the start takes its place, and the start still waits afterwards', async () => {
  const { id } = await rollout.create({ phase_gates: [startGate] })
  await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  await expect(approve(id, 0)).rejects.toThrow(/so resume it first$/)
  await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  await play()
  expect(await read(id)).toMatchObject({ counts: { planned: 10 }, holds: ['approval', 'approval'] })
  await expect(resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)).rejects.toThrow('its start waits for an approval')
  await approve(id, 0)
  await play()
  expect(await read(id)).toMatchObject({ counts: { upgraded: 10 } })
})

it('devices that join an upgrade before its start wait too, and it reserves its devices', async () => {
  const site_ids = [rollout.org.sites[0]?.id ?? '']
  const { id } = await rollout.create({ site_ids, all_sites: false, include_new: true, phase_gates: [startGate] })
  await rollout.ctx.db.updateTable('device').set({ siteId: site_ids[0] }).execute()
  rollout.clock.advance(61_000)
  await includeAll(rollout.ctx)
  await play()
  expect(await read(id)).toMatchObject({ counts: { planned: 10 }, holds: ['approval'] })
  const other = await rollout.create({ site_ids, all_sites: false })
  expect(statusOf(other)).toEqual(['completed'])
  await approve(id, 0)
  await play()
  expect(await read(id)).toMatchObject({ counts: { upgraded: 10 } })
})

it('an upgrade without anything to do does not wait for the approval of its start', async () => {
  const upgrade = await rollout.create({ site_ids: [], all_sites: false, phase_gates: [startGate] })
  await expect(approve(upgrade.id, 0)).rejects.toThrow('no phase of the upgrade waits for an approval')
})

it('an upgrade that has ended is not paused, so that a retry of its devices does not wait', async () => {
  const { id } = await create([], { max_failures: [9, 9, 9] })
  await play(() => 'keeps_old')
  expect(await read(id)).toMatchObject({ status: ['failed', 'failed'], counts: { failed: 10 } })
  await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  const { hold } = await rollout.ctx.db.selectFrom('orgUpgrade').select('hold').executeTakeFirstOrThrow()
  expect(hold).toBeNull()
  await expect(approve(id, 1)).rejects.toThrow('no phase of the upgrade waits for an approval')
  await retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id, macs: null })
  await play()
  expect(await read(id)).toMatchObject({ status: ['completed', 'completed'], counts: { upgraded: 10 } })
})
