import type { SiteScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { type AutoUpgradeState, nextTimeOf } from './auto-upgrade.ts'
import { findAutoUpgrade } from './store.ts'

/** Returns when the access points of the site are upgraded by its settings, and the result of the last time. */
export async function getAutoUpgrade({ db, clock }: Context, scope: SiteScope): Promise<AutoUpgradeState> {
  const now = clock.now()
  const found = await findAutoUpgrade(db, scope, now)
  if (found === undefined) return { nextAt: null, lastAt: null, upgradeId: null, reason: null }
  const { dueAt, ranAt: lastAt, upgradeId, reason } = found
  return { nextAt: dueAt ?? nextTimeOf(found, now), lastAt, upgradeId, reason }
}
