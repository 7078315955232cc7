import { systemSiteScope } from '../../src/access/scope.ts'
import { updateSiteSetting } from '../../src/orgs/site-settings/update-site-setting.ts'
import type { AutoUpgrade } from '../../src/orgs/windows/auto-upgrade.ts'
import { endUpgrades } from '../../src/rollout/stops/end-upgrades.worker.ts'
import { beginAutoUpgrades } from '../../src/upgrades/automatic/auto-upgrade.worker.ts'
import { getAutoUpgrade } from '../../src/upgrades/automatic/get-auto-upgrade.ts'
import { expectConsistent } from './expect-consistent.ts'
import { useRollout } from './harness.ts'

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS
export const MONDAY = new Date('2026-03-02T02:00:00Z')
/** Until then. A test begins on Sunday, 12:00 UTC. */
export const NIGHT_MS = MONDAY.getTime() - Date.parse('2026-03-01T12:00:00Z')

/** Access points that the settings of their sites upgrade. */
export function useAutomaticUpgrades() {
  const rollout = useRollout()

  function scopeOf(site = 0) {
    const { scope, sites } = rollout.org
    return systemSiteScope('operator', { orgId: scope.orgId, siteId: sites[site]?.id ?? '' })
  }

  const begin = () => beginAutoUpgrades(rollout.ctx)

  /** Lets the time come, and what begins then run to its end. */
  async function pass(ms: number): Promise<void> {
    rollout.clock.advance(ms)
    await endUpgrades(rollout.ctx)
    await begin()
    await rollout.play()
    await expectConsistent(rollout.ctx)
  }

  return {
    rollout,
    scopeOf,
    set: (setting: AutoUpgrade, site = 0) => updateSiteSetting(rollout.ctx, scopeOf(site), { auto_upgrade: setting }),
    begin,
    state: (site = 0) => getAutoUpgrade(rollout.ctx, scopeOf(site)),
    pass,
    /** Site upgrades in the order of their creation. */
    upgrades: () =>
      rollout.ctx.db
        .selectFrom('siteUpgrade')
        .innerJoin('orgUpgrade as whole', 'whole.id', 'siteUpgrade.orgUpgradeId')
        .select([
          'siteUpgrade.id',
          'siteUpgrade.siteId',
          'status',
          'total',
          'whole.targetVersion',
          'whole.notes',
          'whole.endsAt',
        ])
        .orderBy('siteUpgrade.id')
        .execute(),
  }
}
