import { expect } from 'vitest'
import type { Context } from '../../src/platform/context.ts'
import { isInFlight, isTerminal } from '../../src/rollout/rollout.ts'

/** What must hold of all upgrades in every committed state. */
export async function expectConsistent({ db }: Context): Promise<void> {
  const siteUpgrades = await db
    .selectFrom('siteUpgrade')
    .select(['id', 'orgUpgradeId', 'counts', 'total', 'finishedAt', 'stopping', 'currentPhase', 'upgradedByPhase'])
    .execute()
  const targets = await db
    .selectFrom('upgradeTarget')
    .select(['upgradeId', 'deviceId', 'imageId', 'state', 'phase', 'reason', 'attempt'])
    .orderBy('deviceId')
    .execute()
  const bySiteUpgrade = Map.groupBy(targets, ({ upgradeId }) => upgradeId)
  for (const { id, counts, total, upgradedByPhase } of siteUpgrades) {
    const mine = bySiteUpgrade.get(id) ?? []
    expect(mine).toHaveLength(total)
    for (const [state, count] of Object.entries(counts))
      expect(mine.filter((one) => one.state === state)).toHaveLength(count)
    const upgraded = Map.groupBy(
      mine.filter(({ state }) => state === 'upgraded'),
      ({ phase }) => String(phase),
    )
    expect(upgradedByPhase).toEqual(Object.fromEntries([...upgraded].map(([phase, some]) => [phase, some.length])))
  }
  const open = targets.filter(({ state }) => !isTerminal(state))
  const active = await db.selectFrom('activeUpgradeTarget').selectAll().orderBy('deviceId').execute()
  const orgUpgradeIds = new Map(siteUpgrades.map(({ id, orgUpgradeId }) => [id, orgUpgradeId]))
  const wanted = open.map(({ deviceId, upgradeId, imageId, state }) => ({
    deviceId,
    upgradeId,
    orgUpgradeId: orgUpgradeIds.get(upgradeId),
    imageId,
    inFlight: isInFlight(state),
  }))
  expect(active.map(({ orgId: _, ...rest }) => rest)).toEqual(wanted)
  const upgrades = await db.selectFrom('orgUpgrade').selectAll().where('phasePlan', 'is not', null).execute()
  for (const upgrade of upgrades) {
    const mine = siteUpgrades.filter(({ orgUpgradeId }) => orgUpgradeId === upgrade.id)
    const all = mine.flatMap(({ id }) => bySiteUpgrade.get(id) ?? []).filter(({ phase }) => phase > 0)
    for (const index of upgrade.phasePlan?.phase_sizes.keys() ?? []) {
      const inPhase = all.filter(({ phase }) => phase === index + 1)
      expect(inPhase).toHaveLength(upgrade.phasePlan?.phase_sizes[index] ?? 0)
      const pending = inPhase.filter(({ state }) => state === 'planned' || state === 'downloaded' || isInFlight(state))
      expect(upgrade.pendingByPhase[index + 1] ?? 0).toBe(pending.length)
      const failed = inPhase.filter(({ state, reason }) => state === 'failed' && reason !== 'offline')
      expect(upgrade.failuresByPhase[index + 1] ?? 0).toBe(failed.length)
      const upgraded = inPhase.filter(({ state }) => state === 'upgraded')
      expect(upgrade.upgradedByPhase[index + 1] ?? 0).toBe(upgraded.length)
    }
    expect(all.filter(({ phase, attempt }) => phase > upgrade.currentPhase && attempt > 0)).toEqual([])
    const going = mine.filter(({ finishedAt, stopping }) => finishedAt === null && stopping === null)
    for (const { currentPhase } of going) expect(currentPhase).toBe(upgrade.currentPhase)
  }
}
