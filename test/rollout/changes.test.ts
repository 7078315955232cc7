import { afterEach, beforeEach, expect, it } from 'vitest'
import { createOrgUpgrade } from '../../src/upgrades/create-org-upgrade.ts'
import { getOrgUpgrade } from '../../src/upgrades/store.ts'
import { parseOrgUpgrade } from '../../src/upgrades/wire-parse.ts'
import type { OrgUpgradeBody } from '../../src/upgrades/wire.ts'
import { type RolloutOptions, defaultRolloutOptions } from '../../src/rollout/rollout.ts'
import { advanceRollouts } from '../../src/rollout/worker.ts'
import { type Fleet, type SeededOrg, createFleet, seedOrg } from '../support/fleet.ts'
import { type TestContext, createTestContext } from '../support/server.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'
import { expectConsistent } from './expect-consistent.ts'

const options: RolloutOptions = { ...defaultRolloutOptions, soakMs: 0 }

let clock: TestClock
let test: TestContext
let org: SeededOrg
let fleet: Fleet
/** The devices that the engine has been woken for. */
let changed: Set<string>
beforeEach(async () => {
  clock = createTestClock()
  test = await createTestContext(clock)
  changed = new Set()
  test.ctx.wakes.on('rollouts', (ids) => {
    for (const id of ids) changed.add(id)
  })
})
afterEach(() => test.close())

async function create(devices: readonly number[], body: OrgUpgradeBody): Promise<string> {
  org = await seedOrg(
    test.ctx,
    devices.map((count) => ({ devices: count })),
  )
  fleet = createFleet(test.ctx, [org])
  await fleet.connect(org.sites.flatMap((site) => site.devices))
  return (await createOrgUpgrade(test.ctx, org.scope, parseOrgUpgrade({ all_sites: true, ...body }))).id
}

/** As the worker does: looks at what is due and at the devices that it was woken for. */
async function advance(): Promise<void> {
  clock.advance(1)
  const some = [...changed]
  changed.clear()
  await advanceRollouts(test.ctx, options, new AbortController().signal, some)
}

async function countOf(id: string): Promise<Record<string, number>> {
  const { siteUpgrades } = await getOrgUpgrade(test.ctx.db, org.scope, id)
  const lists = siteUpgrades.flatMap(({ targets }) => Object.entries(targets))
  const sums = new Map<string, number>()
  for (const [state, macs] of lists) sums.set(state, (sums.get(state) ?? 0) + macs.length)
  return Object.fromEntries(sums)
}

it('looks at the devices that have changed, and at all when the upgrade is due', async () => {
  const id = await create([6], { strategy: 'big_bang' })
  await advance()
  let answers = 0
  await fleet.answer(() => (answers++ < 3 ? 'upgrades' : 'refuses'))
  expect(changed.size).toBe(6)
  changed = new Set([...changed].filter((device) => (fleet.flashes.get(device) ?? 0) > 0))
  await advance()
  expect(await countOf(id)).toEqual({ upgraded: 3, dl_requested: 3 })
  const attempts = () => test.ctx.db.selectFrom('upgradeTarget').select('failedAttempts').orderBy('failedAttempts')
  expect((await attempts().execute()).map(({ failedAttempts }) => failedAttempts)).toEqual([0, 0, 0, 0, 0, 0])
  clock.advance(1000)
  await advance()
  expect((await attempts().execute()).map(({ failedAttempts }) => failedAttempts)).toEqual([0, 0, 0, 1, 1, 1])
  await expectConsistent(test.ctx)
})

it('opens each phase as soon as the last device of the one before has told of its end', async () => {
  const id = await create([10, 10], { reboot_strategy: 'canary', canary_phases: [20, 50] })
  // No second passes, so that nothing is due but by what happens.
  for (let round = 0; round < 4; round += 1) {
    await advance()
    await fleet.answer()
  }
  await advance()
  expect(await countOf(id)).toEqual({ upgraded: 20 })
  expect([...fleet.flashes.values()]).toEqual(Array.from({ length: 20 }, () => 1))
  await expectConsistent(test.ctx)
})

it('stops all sites in the round after the failure that is one too many', async () => {
  const id = await create([10, 10], { strategy: 'canary', canary_phases: [50, 100], max_failure_percentage: 5 })
  await advance()
  await fleet.answer(() => 'keeps_old')
  await advance()
  // They have rebooted; what came of it shows when the upgrade is due.
  clock.advance(1000)
  await advance()
  const { siteUpgrades } = await getOrgUpgrade(test.ctx.db, org.scope, id)
  expect(siteUpgrades.map(({ status }) => status)).toEqual(['failed', 'failed'])
  expect(await fleet.answer()).toBe(0)
  await expectConsistent(test.ctx)
})
