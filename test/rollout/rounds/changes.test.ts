import { beforeEach, expect, it } from 'vitest'
import type { OrgUpgradeBody } from '../../../src/upgrades/wire.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countAll, useRollout } from '../harness.ts'

const rollout = useRollout()
/** The devices that the engine has been woken for. */
let changed: Set<string>
beforeEach(() => {
  changed = new Set()
  rollout.ctx.wakes.on('rollouts', (ids) => {
    for (const id of ids) changed.add(id)
  })
})

async function create(devices: readonly number[], body: OrgUpgradeBody): Promise<string> {
  await rollout.seed(devices)
  return (await rollout.create(body)).id
}

/** Advances as the worker does: reads the upgrades that are due and the devices that it was woken for. */
async function advance(): Promise<void> {
  const some = [...changed]
  changed.clear()
  await rollout.advance(some)
}

it('looks at the devices that have changed, and at all when the upgrade is due', async () => {
  const id = await create([6], { strategy: 'big_bang' })
  await advance()
  let answers = 0
  await rollout.fleet.answer(() => (answers++ < 3 ? 'upgrades' : 'refuses'))
  expect(changed.size).toBe(6)
  changed = new Set([...changed].filter((device) => (rollout.fleet.flashes.get(device) ?? 0) > 0))
  await advance()
  expect(countAll(await rollout.read(id))).toEqual({ upgraded: 3, dl_requested: 3 })
  const attempts = () => rollout.ctx.db.selectFrom('upgradeTarget').select('failedAttempts').orderBy('failedAttempts')
  expect((await attempts().execute()).map(({ failedAttempts }) => failedAttempts)).toEqual([0, 0, 0, 0, 0, 0])
  rollout.clock.advance(1000)
  await advance()
  expect((await attempts().execute()).map(({ failedAttempts }) => failedAttempts)).toEqual([0, 0, 0, 1, 1, 1])
  await expectConsistent(rollout.ctx)
})

it('opens each phase when the last device of the previous one has finished', async () => {
  const id = await create([10, 10], { reboot_strategy: 'canary', canary_phases: [20, 50] })
  // No second passes, so upgrades become due only by events.
  for (let round = 0; round < 4; round += 1) {
    await advance()
    await rollout.fleet.answer()
  }
  await advance()
  expect(countAll(await rollout.read(id))).toEqual({ upgraded: 20 })
  expect([...rollout.fleet.flashes.values()]).toEqual(Array.from({ length: 20 }, () => 1))
  await expectConsistent(rollout.ctx)
})

it('stops all sites in the round after the failure that is one too many', async () => {
  const id = await create([10, 10], { strategy: 'canary', canary_phases: [50, 100], max_failure_percentage: 5 })
  await advance()
  await rollout.fleet.answer(() => 'keeps_old')
  await advance()
  // They have rebooted; the result is checked when the upgrade is due.
  rollout.clock.advance(1000)
  await advance()
  const { siteUpgrades } = await rollout.read(id)
  expect(siteUpgrades.map(({ status }) => status)).toEqual(['failed', 'failed'])
  expect(await rollout.fleet.answer()).toBe(0)
  await expectConsistent(rollout.ctx)
})
