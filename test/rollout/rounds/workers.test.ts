import { describe, expect, it } from 'vitest'
import { claimSiteUpgrades } from '../../../src/rollout/store.ts'
import { advanceSiteUpgrades } from '../../../src/rollout/worker.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countOf, options, statusOf, useRollout } from '../harness.ts'

const rollout = useRollout()
const { advance, create, read, seed } = rollout

describe('workers', () => {
  const claim = () =>
    claimSiteUpgrades(rollout.ctx.db, {
      nowMs: rollout.clock.now().getTime(),
      changed: [],
      seen: [],
      dueBeforeMs: rollout.clock.now().getTime() + 1,
      leaseUntilMs: rollout.clock.now().getTime() + 10_000,
      limit: 10,
    })

  it('hold a claim alone until its lease ends; a claim that was taken over writes nothing', async () => {
    await seed([2])
    const { id } = await create()
    const stale = await claim()
    expect(stale).toHaveLength(1)
    expect(await claim()).toEqual([])
    rollout.clock.advance(10_000)
    const fresh = await claim()
    expect(fresh).toHaveLength(1)
    await advanceSiteUpgrades(rollout.ctx, stale, options)
    expect(countOf(await read(id))).toEqual({ planned: 2 })
    await advanceSiteUpgrades(rollout.ctx, fresh, options)
    expect(countOf(await read(id))).toEqual({ dl_requested: 2 })
    expect(await rollout.ctx.db.selectFrom('deviceCommand').select('id').execute()).toHaveLength(2)
  })

  it('may run side by side', async () => {
    await seed([5, 5, 5, 5])
    const { id } = await create({ reboot_strategy: 'canary' })
    for (let round = 0; round < 12; round += 1) {
      await Promise.all([advance(), advance(), rollout.fleet.answer()])
      rollout.clock.advance(1000)
    }
    expect(statusOf(await read(id))).toEqual(['completed', 'completed', 'completed', 'completed'])
    expect([...rollout.fleet.attempts.values()].every((count) => count === 1)).toBe(true)
    await expectConsistent(rollout.ctx)
  })

  it('that die between any two commits are made up for by the next', async () => {
    await seed([6])
    const { id } = await create({ reboot_strategy: 'canary', canary_phases: [50, 100] })
    for (let round = 0; round < 20; round += 1) {
      // The worker is dead after the claim: no other one claims it before the lease ends.
      await claim()
      rollout.clock.advance(10_000)
      await advance()
      await expectConsistent(rollout.ctx)
      await rollout.fleet.answer()
    }
    expect(statusOf(await read(id))).toEqual(['completed'])
    expect([...rollout.fleet.flashes.values()]).toEqual([1, 1, 1, 1, 1, 1])
  })
})

it('a device that leaves the organization is cancelled', async () => {
  const [device] = await seed([1])
  const { id } = await create()
  await advance()
  await rollout.ctx.db
    .deleteFrom('device')
    .where('id', '=', device?.id ?? '')
    .execute()
  await advance()
  expect(countOf(await read(id))).toEqual({ cancelled: 1 })
  expect(statusOf(await read(id))).toEqual(['cancelled'])
})
