import { expect, it } from 'vitest'
import { countAll, useRollout } from '../harness.ts'

const rollout = useRollout()

it('plans every device of a fleet that is read, planned and written in several portions exactly once', async () => {
  const devices = await rollout.seed([3000, 2100, 1], { online: false })
  const upgrade = await rollout.create({ strategy: 'canary', canary_phases: [1, 10, 50, 100] })
  expect(countAll(upgrade)).toEqual({ planned: devices.length })
  const macs = upgrade.siteUpgrades.flatMap(({ targets }) => targets.planned ?? [])
  expect(new Set(macs)).toEqual(new Set(devices.map(({ mac }) => mac)))
  const phases = await rollout.ctx.db
    .selectFrom('upgradeTarget')
    .select('phase')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .groupBy('phase')
    .orderBy('phase')
    .execute()
  expect(phases.map(({ count }) => Number(count))).toEqual([52, 459, 2040, 2550])
  const events = await rollout.ctx.db
    .selectFrom('deviceEvent')
    .select('deviceId')
    .where('type', '=', 'AP_UPGRADE_BY_USER')
    .execute()
  expect(new Set(events.map(({ deviceId }) => deviceId)).size).toBe(devices.length)
  expect(events).toHaveLength(devices.length)
})
