import { isDeepStrictEqual } from 'node:util'
import type { InOrg } from '../../access/scope.ts'
import { noteChanges } from '../../platform/database/changes.ts'
import type { SiteUpgradeDecision, SiteUpgradeNow } from '../site-upgrade-now.ts'

/**
 * Notifies watchers that upgrades have changed, with their site upgrades. @param parts `id` null: only the whole
 * upgrade.
 */
export function noteUpgrades(
  tx: object,
  { orgId }: InOrg,
  parts: readonly { readonly orgUpgradeId: string; readonly id: string | null }[],
): void {
  const ids = new Set(parts.flatMap(({ id }) => id ?? []))
  noteChanges(
    tx,
    'site_upgrade',
    [...ids].map((id) => ({ orgId, id })),
  )
  const upgrades = new Set(parts.map(({ orgUpgradeId }) => orgUpgradeId))
  noteChanges(
    tx,
    'upgrade',
    [...upgrades].map((id) => ({ orgId, id })),
  )
}

interface Decided {
  readonly siteUpgrade: SiteUpgradeNow & { readonly waitsUntil: Date | null }
  readonly decision: Pick<SiteUpgradeDecision, 'steps' | 'siteUpgrade'>
}

/** True if a round changes what watchers of the upgrade see: one that only waits does not. */
export function isSeenByWatchers({ siteUpgrade, decision: { steps, siteUpgrade: change } }: Decided): boolean {
  return steps.length > 0 || !isDeepStrictEqual(shown(siteUpgrade), shown(change))
}

function shown(
  upgrade: Pick<Decided['siteUpgrade'], 'status' | 'hold' | 'stopReason' | 'currentPhase' | 'waitsUntil'>,
) {
  const { status, hold, stopReason, currentPhase, waitsUntil } = upgrade
  return { status, hold, stopReason, currentPhase, waitsUntil }
}
