import { beforeEach, expect, it } from 'vitest'
import { watchAlarms } from '../../src/app/alarm-watch.ts'
import { approveOrgUpgrade } from '../../src/upgrades/changes/approve-org-upgrade.ts'
import { cancelOrgUpgrade } from '../../src/upgrades/changes/cancel-org-upgrade.ts'
import { pauseOrgUpgrade } from '../../src/upgrades/changes/pause-org-upgrade.ts'
import { resumeOrgUpgrade } from '../../src/upgrades/changes/resume-org-upgrade.ts'
import { retryOrgUpgrade } from '../../src/upgrades/changes/retry-org-upgrade.ts'
import type { OrgUpgradeBody } from '../../src/upgrades/wire.ts'
import { useRollout } from '../rollout/harness.ts'

const rollout = useRollout()
beforeEach(() => rollout.seed([4, 4]))

type PhaseGate = NonNullable<OrgUpgradeBody['phase_gates']>[number]

async function watch() {
  rollout.clock.advance(1000)
  await watchAlarms(rollout.ctx)
  const rows = await rollout.ctx.db
    .selectFrom('alarm')
    .select(['type', 'siteId', 'count', 'text', 'endedAt'])
    .where('type', '<>', 'device_down')
    .orderBy('id')
    .execute()
  return rows.map(({ endedAt, ...alarm }) => Object.assign(alarm, { open: endedAt === null }))
}

async function createHeld(gate: Omit<PhaseGate, 'phase'>): Promise<string> {
  const phase_gates = [{ phase: 1, ...gate }]
  const { id } = await rollout.create({ reboot_strategy: 'canary', canary_phases: [25, 100], phase_gates })
  await rollout.play()
  return id
}

it('an upgrade that waits for an approval has an alarm until somebody approves', async () => {
  const id = await createHeld({ wait_for: 'approval' })
  expect(await watch()).toMatchObject([
    { type: 'upgrade_held', open: true, text: expect.stringMatching(/waits for an approval; approve or cancel it$/) },
  ])
  await approveOrgUpgrade(rollout.ctx, rollout.org.scope, { id, phase: 1, note: null })
  expect(await watch()).toMatchObject([{ type: 'upgrade_held', open: false, count: 1 }])
})

it.each(['org', 'site'] as const)(
  'one whose phase failed has an alarm until somebody resumes it: %s',
  async (scope) => {
    const { id } = await rollout.create({
      reboot_strategy: 'canary',
      canary_phases: [25, 100],
      phase_scope: scope,
      max_failure_percentage: 100,
    })
    await rollout.play(() => 'keeps_old')
    const text = expect.stringMatching(/ of phase 1 were upgraded; resume it to open the next phase, or cancel it$/)
    expect(await watch()).toMatchObject([{ type: 'upgrade_held', open: true, text }])
    await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    expect(await watch()).toMatchObject([{ type: 'upgrade_held', open: false }])
  },
)

it('so does one that waits for the approval of its start', async () => {
  const { id } = await rollout.create({ phase_gates: [{ phase: 0, wait_for: 'approval' }] })
  expect(await watch()).toMatchObject([
    {
      type: 'upgrade_held',
      open: true,
      text: expect.stringMatching(/: its start waits for an approval; approve or cancel it$/),
    },
  ])
  await approveOrgUpgrade(rollout.ctx, rollout.org.scope, { id, phase: 0, note: null })
  expect(await watch()).toMatchObject([{ type: 'upgrade_held', open: false }])
})

it('an upgrade that waits for its check has none, because no person must decide', async () => {
  await createHeld({ wait_for: 'check', url: 'https://example.com/check' })
  expect(await watch()).toEqual([])
})

it('an upgrade that waits for a time has none either', async () => {
  await createHeld({ wait_for: 'time', minutes: 5 })
  expect(await watch()).toEqual([])
})

it('an upgrade that fails again after a retry is counted up, but not while it runs', async () => {
  const { id } = await rollout.create({ reboot_strategy: 'big_bang', max_failure_percentage: 0 })
  await rollout.play(() => 'keeps_old')
  expect(await watch()).toMatchObject([{ type: 'upgrade_failed', count: 1 }])
  rollout.clock.advance(1000)
  await retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id, macs: null })
  expect(await watch()).toMatchObject([{ type: 'upgrade_failed', count: 1 }])
  await rollout.play(() => 'keeps_old')
  expect(await watch()).toMatchObject([{ type: 'upgrade_failed', count: 2 }])
  expect(await watch()).toMatchObject([{ type: 'upgrade_failed', count: 2 }])
})

it('an upgrade that failed more than a day ago, while nobody watched, has none', async () => {
  await rollout.create({ reboot_strategy: 'big_bang' })
  await rollout.play(() => 'keeps_old')
  rollout.clock.advance(25 * 3600e3)
  expect(await watch()).toEqual([])
})

it('one that is stopped everywhere by the failures of a site names that site', async () => {
  const failing = new Set(
    rollout
      .devices()
      .slice(0, 4)
      .map(({ id }) => id),
  )
  await rollout.create({ reboot_strategy: 'serial', max_failure_percentage: 0 })
  await rollout.play(({ id }) => (failing.has(id) ? 'keeps_old' : 'upgrades'))
  const { db } = rollout.ctx
  const stopped = await db.selectFrom('siteUpgrade').select('status').execute()
  expect(stopped.map(({ status }) => status)).toEqual(['failed', 'failed'])
  const [one] = failing
  const { siteId } = await db
    .selectFrom('device')
    .select('siteId')
    .where('id', '=', one ?? '')
    .executeTakeFirstOrThrow()
  expect(await watch()).toMatchObject([{ type: 'upgrade_failed', siteId, count: 1 }])
})

it.each(['org', 'site'] as const)(
  'one that waits does so no longer once a person pauses or cancels it: %s',
  async (scope) => {
    const canary = { reboot_strategy: 'canary', max_failure_percentage: 100, phase_scope: scope } as const
    const { id } = await rollout.create({ ...canary, canary_phases: [25, 100] })
    await rollout.play(() => 'keeps_old')
    expect(await watch()).toMatchObject([{ type: 'upgrade_held', open: true }])
    await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    expect(await watch()).toMatchObject([{ type: 'upgrade_held', open: false }])
    await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await rollout.advance()
    expect(await watch()).toMatchObject([{ type: 'upgrade_held', open: true, count: 2 }])
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    expect(await watch()).toMatchObject([{ type: 'upgrade_held', open: false }])
  },
)
