import { expect } from 'vitest'
import type { Context } from '../../src/platform/context.ts'
import { terminalStates } from '../../src/rollout/rollout.ts'

/** What must hold of all upgrades in every committed state. */
export async function expectConsistent({ db }: Context): Promise<void> {
  const jobs = await db.selectFrom('siteUpgrade').select(['id', 'counts', 'total', 'finishedAt']).execute()
  const targets = await db.selectFrom('upgradeTarget').select(['upgradeId', 'deviceId', 'state']).execute()
  for (const { id, counts, total } of jobs) {
    const mine = targets.filter(({ upgradeId }) => upgradeId === id)
    expect(mine).toHaveLength(total)
    for (const [state, count] of Object.entries(counts))
      expect(mine.filter((one) => one.state === state)).toHaveLength(count)
  }
  const open = targets.filter(({ state }) => !terminalStates.some((terminal) => terminal === state))
  const active = await db.selectFrom('activeUpgradeTarget').select('deviceId').execute()
  expect(active.map(({ deviceId }) => deviceId).sort()).toEqual(open.map(({ deviceId }) => deviceId).sort())
}
