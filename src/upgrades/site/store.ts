import { type RawBuilder, sql } from 'kysely'
import { type PlaceScope, type SiteScope, coversOrg } from '../../access/scope.ts'
import type { Conditions } from '../../http/lists/filters.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { sizesOf } from '../../http/lists/store-bounds.ts'
import { allHold, column, conditionsOn } from '../../http/lists/store-filters.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import type { Reader, Tx } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'
import { awaitedCount } from '../../rollout/changes/store-awaited.ts'
import { siteUpgradeNotes } from '../../rollout/changes/store-joining-failures.ts'
import type { UpgradeKind } from '../../rollout/rollout.ts'
import { failures, stopReasonOf, targetsByState, upgradeName } from '../store.ts'
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
      upgradeName.as('name'),
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
    .where(isNamed(id))
    .executeTakeFirst()
  if (row === undefined) throw notFound(id)
  return row
}

/**
 * The condition that an id names `site_upgrade`, or the organization upgrade to which it belongs: the operations of a site accept
 * both, because published clients get the former, and the list of all kinds has the latter.
 */
export function isNamed(id: string): RawBuilder<boolean> {
  return sql`(site_upgrade.id = ${id} or site_upgrade.org_upgrade_id = ${id})`
}

/** The part of an upgrade at one site. */
export interface SitePart {
  readonly id: string
  readonly orgUpgradeId: string
  readonly siteId: string
}

interface Named {
  readonly id: string
  readonly kind: UpgradeKind
}

/** @throws AppError not_found, also for an upgrade of another kind. */
export async function getSitePart(reader: Reader, scope: SiteScope, { id, kind }: Named): Promise<SitePart> {
  const part = await reader
    .selectFrom('siteUpgrade')
    .innerJoin('orgUpgrade', (join) =>
      join.onRef('orgUpgrade.orgId', '=', 'siteUpgrade.orgId').onRef('orgUpgrade.id', '=', 'siteUpgrade.orgUpgradeId'),
    )
    .select(['siteUpgrade.id', 'siteUpgrade.orgUpgradeId', 'siteUpgrade.siteId'])
    .where('siteUpgrade.orgId', '=', scope.orgId)
    .where('siteUpgrade.siteId', '=', scope.siteId)
    .where('orgUpgrade.kind', '=', kind)
    .where(isNamed(id))
    .executeTakeFirst()
  if (part === undefined) throw notFound(id)
  return part
}

/**
 * Returns the id of the organization upgrade that an id names. Only a site is searched: in an organization it is the id itself.
 * @throws AppError not_found if the site has no part of it.
 */
export async function getOrgUpgradeId(reader: Reader, scope: PlaceScope, named: Named): Promise<string> {
  return coversOrg(scope) ? named.id : (await getSitePart(reader, scope, named)).orgUpgradeId
}

/** The condition that `upgrade` has a part at another site, or takes in devices of sites that are created later. */
export function concernsOthers(siteId: string): RawBuilder<boolean> {
  return sql`(upgrade.joining->>'laterSites' is not null or exists (
    select from site_upgrade part
    where part.org_id = upgrade.org_id and part.org_upgrade_id = upgrade.id and part.site_id <> ${siteId}))`
}

/** See concernsOthers(). */
export async function hasOtherSites(tx: Tx, scope: SiteScope, orgUpgradeId: string): Promise<boolean> {
  const { rows } = await sql<{ readonly hasOthers: boolean }>`
    select ${concernsOthers(scope.siteId)} as has_others from org_upgrade upgrade
    where upgrade.org_id = ${scope.orgId} and upgrade.id = ${orgUpgradeId}
  `.execute(tx)
  return rows.some(({ hasOthers }) => hasOthers)
}
