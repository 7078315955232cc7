import { sql } from 'kysely'
import { beforeEach, expect, it } from 'vitest'
import { isInFlight, noCounts } from '../../src/rollout/rollout.ts'
import type { OrgUpgradeBody } from '../../src/upgrades/wire.ts'
import { type Tx, inTx, json } from '../../src/platform/database/db.ts'
import { lockOrgUpgrades } from '../../src/rollout/store.ts'
import { untilWaiting } from '../support/database/until-waiting.ts'
import { expectConsistent } from './expect-consistent.ts'
import { countAll, statusOf, useRollout } from './harness.ts'

const rollout = useRollout()
beforeEach(() => rollout.seed([6, 6, 6]))

/** Plays an upgrade to its end. @returns How many devices were in flight after each round, at most. */
async function playCounting(body: OrgUpgradeBody): Promise<{ readonly all: number; readonly perSite: number }> {
  const { id } = await rollout.create(body)
  let all = 0
  let perSite = 0
  for (let rounds = 0; rounds < 60; rounds += 1) {
    await rollout.advance()
    const targets = await rollout.ctx.db.selectFrom('upgradeTarget').select(['upgradeId', 'state']).execute()
    const busy = targets.filter(({ state }) => isInFlight(state))
    all = Math.max(all, busy.length)
    for (const some of Map.groupBy(busy, ({ upgradeId }) => upgradeId).values())
      perSite = Math.max(perSite, some.length)
    await expectConsistent(rollout.ctx)
    await rollout.fleet.answer()
    rollout.clock.advance(1000)
  }
  expect(countAll(await rollout.read(id))).toEqual({ upgraded: 18 })
  return { all, perSite }
}

it.each([
  [{}, { all: 18, perSite: 6 }],
  [{ max_in_flight: 4 }, { all: 4, perSite: 4 }],
  [{ max_downloads: 5 }, { all: 5, perSite: 5 }],
  [{ max_downloads_per_site: 2 }, { all: 6, perSite: 2 }],
  [
    { enable_p2p: true, p2p_cluster_size: 1, p2p_parallelism: 2 },
    { all: 6, perSite: 2 },
  ],
  [
    { max_in_flight: 5, max_downloads_per_site: 2 },
    { all: 5, perSite: 2 },
  ],
])('with %j devices of all sites begin as others end', async (limits, most) => {
  expect(await playCounting(limits)).toEqual(most)
})

it('devices begin in the order of the plan, whatever their ids', async () => {
  const { id } = await rollout.create({ strategy: 'big_bang', max_downloads_per_site: 2 })
  const targets = rollout.ctx.db.selectFrom('upgradeTarget').select(['upgradeId', 'deviceId', 'ordinal'])
  await rollout.ctx.db
    .updateTable('upgradeTarget')
    .set({ ordinal: sql<number>`100 - ordinal` })
    .execute()
  const planned = Map.groupBy(await targets.orderBy('ordinal').execute(), ({ upgradeId }) => upgradeId)
  await rollout.advance()
  const begun = await targets.where('attempt', '=', 1).orderBy('ordinal').execute()
  expect(begun).toHaveLength(6)
  expect(Map.groupBy(begun, ({ upgradeId }) => upgradeId)).toEqual(
    new Map([...planned].map(([upgradeId, some]) => [upgradeId, some.slice(0, 2)])),
  )
  await rollout.play()
  expect(countAll(await rollout.read(id))).toEqual({ upgraded: 18 })
})

it('more failures than the budget of all sites stop an upgrade, also without phases', async () => {
  const bad = new Set([0, 1, 2].map((site) => rollout.devices(site)[0]?.id))
  const { id } = await rollout.create({ strategy: 'big_bang', failure_budget: 2, max_in_flight: 6 })
  await rollout.play((device) => (bad.has(device.id) ? 'refuses_content' : 'upgrades'))
  const upgrade = await rollout.read(id)
  expect(statusOf(upgrade)).toContain('failed')
  expect(countAll(upgrade).failed).toBe(3)
  expect(upgrade.siteUpgrades.map(({ stopReason }) => stopReason)).toContain(
    'more than 2 failures in all sites, the failure_budget',
  )
  const { id: tolerant } = await rollout.create({ strategy: 'big_bang', failure_budget: 3, force: true })
  await rollout.play((device) => (bad.has(device.id) ? 'refuses_content' : 'upgrades'))
  expect(statusOf(await rollout.read(tolerant))).toEqual(['completed', 'completed', 'completed'])
})

it('failures at one site do not fail those whose devices were all upgraded by then', async () => {
  const [bad] = rollout.devices(0)
  const { id } = await rollout.create({ strategy: 'big_bang', failure_budget: 0 })
  await rollout.play((device) => (device.id === bad?.id ? 'refuses_content' : 'upgrades'))
  const upgrade = await rollout.read(id)
  expect(countAll(upgrade)).toEqual({ failed: 1, upgraded: 17 })
  expect(statusOf(upgrade)).toEqual(['failed', 'completed', 'completed'])
  expect(upgrade.siteUpgrades.map(({ stopReason }) => stopReason)).toEqual([
    'more than 0 failures in all sites, the failure_budget',
    null,
    null,
  ])
})

it('an upgrade is held after a phase in which too small a share was upgraded, whether the others failed or were absent', async () => {
  const canary = { reboot_strategy: 'canary', canary_phases: [50, 100], max_failure_percentage: 100 }
  const [first] = rollout.devices()
  if (first === undefined) throw new Error('no device')
  await rollout.fleet.disconnect(rollout.devices().filter(({ id }) => id !== first.id))
  const { id } = await rollout.create({ ...canary, min_success_percentage: 80 })
  for (let round = 0; round < 3; round += 1) {
    await rollout.play()
    rollout.clock.advance(1_000_000)
  }
  await rollout.play()
  const { hold } = (await rollout.read(id)).siteUpgrades[0] ?? {}
  expect(hold).toMatchObject({ by: 'gate', reason: '1 of 9 devices of phase 1 were upgraded, less than 80 %' })
})

it('serial upgrades are held after a device that was not upgraded, if every one must be', async () => {
  const { id } = await rollout.create({ strategy: 'serial', min_success_percentage: 100, max_failure_percentage: 100 })
  await rollout.play(() => 'refuses_content')
  const { siteUpgrades } = await rollout.read(id)
  const reason = '0 of 1 devices of phase 1 were upgraded, less than 100 %'
  expect(siteUpgrades.map(({ hold }) => hold)).toMatchObject([{ reason }, { reason }, { reason }])
  expect(countAll(await rollout.read(id))).toEqual({ failed: 3, planned: 15 })
})

it('a round that waited for another process counts the devices that the other one started', async () => {
  const { id } = await rollout.create({ max_in_flight: 4, max_downloads: 4 })
  const { scope } = rollout.org
  const inUse = (tx: Tx) => lockOrgUpgrades(tx, scope, [id]).then(([upgrade]) => upgrade?.inUse)
  let waiting: ReturnType<typeof inUse> | undefined
  await inTx(rollout.ctx, async (tx) => {
    expect(await inUse(tx)).toEqual({ inFlight: 0, downloads: 0 })
    waiting = inTx(rollout.ctx, inUse)
    await untilWaiting({ ctx: rollout.ctx }, 1)
    const [part] = (await rollout.read(id)).siteUpgrades
    await tx
      .updateTable('siteUpgrade')
      .set({ counts: json({ ...noCounts, planned: 3, downloading: 3 }) })
      .where('id', '=', part?.id ?? '')
      .execute()
    await tx.updateTable('orgUpgrade').set({ hardFailures: 1 }).where('id', '=', id).execute()
  })
  expect(await waiting).toEqual({ inFlight: 3, downloads: 3 })
})
