import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Reader, anyOf } from '../../platform/database/db.ts'
import { partStatusOf } from '../../rollout/store-part-status.ts'
import { countsOfSites, stopReasonOf } from '../store.ts'
import type { LiveSite, LiveUpgrade } from './live.ts'

/** Lists the progress of site upgrades. The number of rows that it reads does not depend on the number of devices. */
export function listLiveSites(reader: Reader, scope: InOrg, ids: readonly string[]): Promise<LiveSite[]> {
  return reader
    .selectFrom('siteUpgrade as part')
    .innerJoin('orgUpgrade as upgrade', (on) =>
      on.onRef('upgrade.orgId', '=', 'part.orgId').onRef('upgrade.id', '=', 'part.orgUpgradeId'),
    )
    .select(['part.id', 'part.orgUpgradeId', 'part.siteId', 'part.status', 'part.hold'])
    .select(stopReasonOf('part').as('stopReason'))
    .select(['part.waitsUntil', 'part.counts', 'part.total', 'part.currentPhase', 'part.upgradedByPhase'])
    .select(['part.hardFailures', 'upgrade.kind'])
    .where('part.orgId', '=', scope.orgId)
    .where('part.id', '=', anyOf(ids))
    .orderBy('part.id')
    .execute()
}

/** Lists how upgrades stand, by the counters of their sites. */
export async function listLiveUpgrades(
  reader: Reader,
  scope: InOrg,
  ids: readonly string[],
): Promise<readonly LiveUpgrade[]> {
  const { rows } = await sql<LiveUpgrade>`
    select upgrade.id, upgrade.kind, upgrade.hold, upgrade.phase_plan, upgrade.current_phase, upgrade.upgraded_by_phase,
      upgrade.failures_by_phase, whole.runs, whole.statuses, whole.sites, whole.total, counted.counts
    from org_upgrade upgrade
    cross join lateral (
      select coalesce(bool_or(part.finished_at is null), false) as runs, count(*)::integer as sites,
        coalesce(sum(part.total), 0)::integer as total,
        coalesce(array_agg(distinct ${partStatusOf('part')}), '{}') as statuses
      from site_upgrade part where part.org_id = upgrade.org_id and part.org_upgrade_id = upgrade.id) whole
    cross join lateral (${countsOfSites(sql`true`)}) counted
    where upgrade.org_id = ${scope.orgId} and upgrade.id = ${anyOf(ids)}
    order by upgrade.id
  `.execute(reader)
  return rows
}
