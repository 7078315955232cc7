import { expect, it } from 'vitest'
import { json } from '../../../src/platform/database/db.ts'
import { claimSiteUpgrades } from '../../../src/rollout/store.ts'
import { advanceSiteUpgrades } from '../../../src/rollout/worker.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { options, useRollout } from '../harness.ts'
import { createKillSwitch } from './kill-switch.ts'

/** The lease of a worker's claim. */
const LEASE_MS = 10_000

const rollout = useRollout()
const { advance, create, read, seed } = rollout
const canary = { reboot_strategy: 'canary', canary_phases: [50] }

/** Runs one round. @returns True if it failed. */
async function advanceOnce(): Promise<boolean> {
  const nowMs = rollout.clock.now().getTime()
  const leaseUntilMs = nowMs + LEASE_MS
  const claims = await claimSiteUpgrades(rollout.ctx.db, {
    nowMs,
    dueBeforeMs: leaseUntilMs,
    changed: [],
    seen: [],
    leaseUntilMs,
    limit: 10,
  })
  return advanceSiteUpgrades(rollout.ctx, claims, options).then(
    () => false,
    () => true,
  )
}

it.each(['org_upgrade', 'upgrade_target', 'device_command', 'device_upgrade', 'device_event_row'])(
  'a round that dies at its write to %s has changed nothing, and is made up for',
  async (table) => {
    await seed([4])
    const killer = await createKillSwitch(rollout.ctx.db, [table])
    const { id } = await create(canary)
    const stateOf = async () => JSON.stringify(await read(id))
    let kills = 0
    for (let round = 0; round < 12; round += 1) {
      const before = await stateOf()
      await killer.arm(table)
      const died = await advanceOnce()
      await killer.arm(null)
      if (died) {
        kills += 1
        expect(await stateOf()).toBe(before)
      }
      await expectConsistent(rollout.ctx)
      rollout.clock.advance(LEASE_MS)
      await advance()
      await expectConsistent(rollout.ctx)
      await rollout.fleet.answer()
      rollout.clock.advance(1000)
    }
    expect(kills).toBeGreaterThan(0)
    const upgrade = await read(id)
    expect(upgrade.siteUpgrades.map(({ status }) => status)).toEqual(['completed'])
    expect([...rollout.fleet.attempts.values()]).toEqual([1, 1, 1, 1])
  },
)

it('a broken site upgrade holds up no other of its organization', async () => {
  await seed([2, 2, 2])
  const upgrade = await create({ ...canary, phase_scope: 'site' })
  const [, broken] = upgrade.siteUpgrades
  const { plan } = await rollout.ctx.db
    .selectFrom('siteUpgrade')
    .select('plan')
    .where('id', '=', broken?.id ?? '')
    .executeTakeFirstOrThrow()
  const save = (text: string) =>
    rollout.ctx.db
      .updateTable('siteUpgrade')
      .set({ plan: text })
      .where('id', '=', broken?.id ?? '')
      .execute()
  const play = async () => {
    for (let round = 0; round < 8; round += 1) {
      await advance()
      await rollout.fleet.answer()
      rollout.clock.advance(1000)
    }
    return (await read(upgrade.id)).siteUpgrades.map(({ status }) => status)
  }
  await save('null')
  expect(await play()).toEqual(['completed', 'queued', 'completed'])
  await save(json(plan))
  rollout.clock.advance(LEASE_MS)
  expect(await play()).toEqual(['completed', 'completed', 'completed'])
  await expectConsistent(rollout.ctx)
})
