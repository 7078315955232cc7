import { type RawBuilder, sql } from 'kysely'
import type { SiteScope } from '../../access/scope.ts'
import type { Conditions } from '../../http/lists/filters.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { sizesOf } from '../../http/lists/store-bounds.ts'
import { allHold, column, conditionsOn } from '../../http/lists/store-filters.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import type { Reader } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'
import { awaitedCount } from '../../rollout/changes/store-awaited.ts'
import { siteUpgradeNotes } from '../../rollout/changes/store-joining-failures.ts'
import { failures, stopReasonOf, targetsByState } from '../store.ts'
import type { siteUpgradeFilters } from './filters.ts'
import type { SiteUpgradeDetail, SiteUpgradeItem } from './site-upgrade.ts'

const phases: RawBuilder<SiteUpgradeItem['phases']> = sql`(
  select coalesce(json_object_agg(phase, macs), '{}') from (
    select phase, json_agg(mac order by ordinal) as macs from upgrade_target target
    where target.org_id = site_upgrade.org_id and target.upgrade_id = site_upgrade.id and phase > 0
    group by phase) by_phase)`

function selectSiteUpgrades(reader: Reader, scope: SiteScope) {
  return reader
    .selectFrom('siteUpgrade')
    .innerJoin('orgUpgrade', (join) =>
      join.onRef('orgUpgrade.orgId', '=', 'siteUpgrade.orgId').onRef('orgUpgrade.id', '=', 'siteUpgrade.orgUpgradeId'),
    )
    .select([
      'siteUpgrade.id',
      'siteUpgrade.status',
      'siteUpgrade.hold',
      'siteUpgrade.startAt',
      'siteUpgrade.waitsUntil',
      'siteUpgrade.rebootAt',
      'siteUpgrade.total',
      'siteUpgrade.currentPhase',
      'siteUpgrade.counts',
      'orgUpgrade.strategy',
      'orgUpgrade.targetVersion',
      'orgUpgrade.force',
      'orgUpgrade.enableP2p',
      'orgUpgrade.maxFailurePercentage',
    ])
    .select(stopReasonOf('site_upgrade').as('stopReason'))
    .select(sql<SiteUpgradeItem['maxFailures']>`org_upgrade.request->'max_failures'`.as('maxFailures'))
    .select(phases.as('phases'))
    .where('siteUpgrade.orgId', '=', scope.orgId)
    .where('siteUpgrade.siteId', '=', scope.siteId)
    .where('orgUpgrade.kind', '=', 'device')
}

const columns = { status: column(sql`site_upgrade.status`) }

/** Lists the site upgrades of a site, newest first, including those of organization upgrades. */
export function listSiteUpgrades(
  reader: Reader,
  scope: SiteScope,
  { conditions, page }: { readonly conditions: Conditions<typeof siteUpgradeFilters>; readonly page: Page },
): Promise<Paged<SiteUpgradeItem>> {
  const passed = allHold(conditionsOn<typeof siteUpgradeFilters>(columns, conditions))
  const hits = selectSiteUpgrades(reader, scope).where(passed)
  // A target is a MAC, between quotes and commas.
  const sizes = sizesOf(sql`20 * hit.total`)
  return pageOf<SiteUpgradeItem>(reader, { hits, direction: 'desc', sizes }, page)
}

/** @throws AppError not_found */
export async function getSiteUpgrade(reader: Reader, scope: SiteScope, id: string): Promise<SiteUpgradeDetail> {
  const row = await selectSiteUpgrades(reader, scope)
    .select(['orgUpgrade.notes as orgNotes', siteUpgradeNotes.as('notes'), awaitedCount.as('awaited')])
    .select(sql<readonly number[] | null>`org_upgrade.request->'canary_phases'`.as('canaryPhases'))
    .select(sql<number | null>`(org_upgrade.request->'p2p_cluster_size')::integer`.as('p2pClusterSize'))
    .select(sql<number | null>`(org_upgrade.request->'p2p_parallelism')::integer`.as('p2pParallelism'))
    .select(targetsByState.as('targets'))
    .select(failures.as('failures'))
    .where('siteUpgrade.id', '=', id)
    .executeTakeFirst()
  if (row === undefined) throw notFound(id)
  return row
}

/** Returns the organization upgrade to which a site upgrade of the site belongs. @throws AppError not_found */
export async function getOrgUpgradeId(reader: Reader, scope: SiteScope, id: string): Promise<string> {
  const row = await reader
    .selectFrom('siteUpgrade')
    .select('orgUpgradeId')
    .where('orgId', '=', scope.orgId)
    .where('siteId', '=', scope.siteId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined) throw notFound(id)
  return row.orgUpgradeId
}
