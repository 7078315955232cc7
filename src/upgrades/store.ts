import { type RawBuilder, sql } from 'kysely'
import type { InOrg, OrgScope, SitesScope } from '../access/scope.ts'
import { inSites } from '../access/store-sites.ts'
import type { Page, Paged } from '../http/lists/lists.ts'
import { sizesOf } from '../http/lists/store-bounds.ts'
import { pageOf } from '../http/lists/store-pages.ts'
import { shareOrg } from '../orgs/store.ts'
import { type Reader, type Tx, anyOf } from '../platform/database/db.ts'
import { notFound } from '../platform/errors.ts'
import { awaitedCount } from '../rollout/changes/store-awaited.ts'
import { siteUpgradeNotes } from '../rollout/changes/store-joining-failures.ts'
import type { PartStatus } from '../rollout/decide-whole-status.ts'
import type { TargetState, UpgradeKind } from '../rollout/rollout.ts'
import { partStatusOf } from '../rollout/store-part-status.ts'
import type { OrgUpgrade, SiteUpgrade, UpgradeSite } from './org-upgrade.ts'

/** Clients may store anything in the document of a site. */
const siteGroups: RawBuilder<UpgradeSite['groups']> = sql`case jsonb_typeof(site.doc->'sitegroup_ids')
  when 'array' then jsonb_path_query_array(site.doc->'sitegroup_ids', '$[*] ? (@.type() == "string")') else '[]' end`

/** Lists those of the sites that the scope covers, and prevents their deletion until `tx` ends. */
export async function shareUpgradeSites(
  tx: Tx,
  scope: SitesScope,
  siteIds: 'all' | readonly string[],
): Promise<UpgradeSite[]> {
  // The organization is locked before its sites, as in every transaction that needs both.
  await shareOrg(tx, scope)
  let query = tx
    .selectFrom('site')
    .select(['id', 'name', 'timezone'])
    .select(siteGroups.as('groups'))
    .where('orgId', '=', scope.orgId)
    .where(inSites(scope, sql.ref('site.id')))
  if (siteIds !== 'all') query = query.where('id', '=', anyOf(siteIds))
  return query.orderBy('id').forKeyShare().execute()
}

/** Returns the time zones of sites, by their ids. */
export async function listTimezones(
  reader: Reader,
  scope: InOrg,
  siteIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await reader
    .selectFrom('site')
    .select(['id', 'timezone'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', anyOf(siteIds))
    .execute()
  return new Map(rows.map(({ id, timezone }) => [id, timezone]))
}

/** Lists the sites with devices in which the upgrade has no part, as they were created after it. */
export function listLaterSites(reader: Reader, scope: InOrg, orgUpgradeId: string): Promise<UpgradeSite[]> {
  return reader
    .selectFrom('site')
    .select(['id', 'name', 'timezone'])
    .select(siteGroups.as('groups'))
    .where('orgId', '=', scope.orgId)
    .where(
      sql<boolean>`not exists (select from site_upgrade part
        where part.org_id = site.org_id and part.org_upgrade_id = ${orgUpgradeId} and part.site_id = site.id)`,
    )
    .where(sql<boolean>`exists (select from device where device.org_id = site.org_id and device.site_id = site.id)`)
    .orderBy('id')
    .execute()
}

/** Lists those of the models that devices in the scope have; in an organization also devices without a site. */
export async function listKnownModels(
  reader: Reader,
  scope: SitesScope,
  models: readonly string[],
): Promise<Set<string>> {
  if (models.length === 0) return new Set()
  const rows = await reader
    .selectFrom('device')
    .select('model')
    .distinct()
    .where('orgId', '=', scope.orgId)
    .where('model', '=', anyOf(models))
    .where(inSites(scope, sql.ref('device.site_id')))
    .execute()
  return new Set(rows.map(({ model }) => model))
}

/** True while an upgrade stops, and where it was stopped or has ended because no device was left. */
export function hasStopReason(table: 'site_upgrade' | 'part' | 'upgrade'): RawBuilder<boolean> {
  return sql`(${sql.ref(`${table}.stopping`)} is not null or ${sql.ref(`${table}.status`)} = 'cancelled')`
}

/**
 * Why a site upgrade stops or was stopped. While failed devices are retried, the row keeps the reason for which the
 * other devices were cancelled.
 */
export function stopReasonOf(siteUpgrade: 'site_upgrade' | 'part'): RawBuilder<SiteUpgrade['stopReason']> {
  return sql`case when ${hasStopReason(siteUpgrade)} then ${sql.ref(`${siteUpgrade}.stop_reason`)} end`
}

/**
 * Selects the counts by state of those sites of `upgrade` whose `part` meets a condition, as `counts`; states without devices are missing.
 * It reads no target. For a lateral join.
 */
export const countsOfSites = (condition: RawBuilder<boolean>): RawBuilder<unknown> => sql`
  select coalesce(jsonb_object_agg(state, targets), '{}') as counts from (
    select state, sum(number::integer)::integer as targets
    from site_upgrade part, jsonb_each_text(part.counts) as each (state, number)
    where part.org_id = upgrade.org_id and part.org_upgrade_id = upgrade.id and ${condition}
    group by state) by_state where targets > 0`

/** MACs of the targets of `site_upgrade`, by state. */
export const targetsByState: RawBuilder<SiteUpgrade['targets']> = sql`(
  select coalesce(json_object_agg(state, macs), '{}') from (
    select state, json_agg(mac order by ordinal, mac) as macs from upgrade_target target
    where target.org_id = site_upgrade.org_id and target.upgrade_id = site_upgrade.id
    group by state) by_state)`

/** The failed targets of `site_upgrade`, those being restored, and those without the requested snapshot, with their reasons. */
export const failures: RawBuilder<SiteUpgrade['failures']> = sql`(
  select coalesce(json_agg(json_build_object('mac', mac, 'state', state, 'reason', coalesce(reason, 'unknown'))
    order by ordinal, mac), '[]')
  from upgrade_target target
  where target.org_id = site_upgrade.org_id and target.upgrade_id = site_upgrade.id
    and (state in ('failed', 'rolling_back') or state = 'upgraded' and reason is not null))`

/** The name of an upgrade, as requested; null: it has none. */
export const upgradeName = sql<string | null>`request->>'name'`

/** @throws AppError not_found */
export async function getOrgUpgrade(reader: Reader, scope: OrgScope, id: string): Promise<OrgUpgrade> {
  const upgrade = await reader
    .selectFrom('orgUpgrade')
    .select(['id', upgradeName.as('name'), 'strategy', 'targetVersion', 'force', 'enableP2p', 'notes', 'approvals'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('kind', '=', 'device')
    .executeTakeFirst()
  if (upgrade === undefined) throw notFound(id)
  return { ...upgrade, siteUpgrades: await listSiteUpgrades(reader, scope, id) }
}

/** Lists the site upgrades of an upgrade of any kind that the scope shows, in the order of their ids. */
export function listSiteUpgrades(reader: Reader, scope: SitesScope, orgUpgradeId: string): Promise<SiteUpgrade[]> {
  return reader
    .selectFrom('siteUpgrade')
    .select(['id', 'siteId', 'status', 'hold', 'startAt', 'waitsUntil', 'total'])
    .select([siteUpgradeNotes.as('notes'), awaitedCount.as('awaited')])
    .select(stopReasonOf('site_upgrade').as('stopReason'))
    .select(targetsByState.as('targets'))
    .select(failures.as('failures'))
    .where('orgId', '=', scope.orgId)
    .where('orgUpgradeId', '=', orgUpgradeId)
    .where(inSites(scope, sql.ref('site_upgrade.site_id')))
    .orderBy('id')
    .execute()
}

export interface OrgUpgradeItem extends Pick<OrgUpgrade, 'id' | 'name' | 'strategy' | 'targetVersion'> {
  readonly createdAt: Date
  readonly sites: ListedSites
}

interface ListedSites {
  readonly siteUpgrades: readonly { readonly siteId: string; readonly upgradeId: string }[]
  /** Each one once. */
  readonly statuses: readonly PartStatus[]
  readonly isRunning: boolean
  /** That of the first site that runs and waits. */
  readonly hold: SiteUpgrade['hold']
  /** Devices of all sites. */
  readonly total: number
  /** As in the report: those that only had to download count, too. */
  readonly upgraded: number
  readonly failed: number
}

/** The devices of `part` in these states. */
function sumOf(states: readonly TargetState[]): RawBuilder<unknown> {
  return sql.join(
    states.map((state) => sql`coalesce((part.counts->>${sql.lit(state)})::integer, 0)`),
    sql` + `,
  )
}

/**
 * The site upgrades of `org_upgrade`. Only their ids grow with the number of sites, because a page may have tens of thousands
 * of them.
 */
const listedSites: RawBuilder<ListedSites> = sql`(
  select json_build_object(
    'siteUpgrades', coalesce(json_agg(json_build_object('siteId', site_id, 'upgradeId', part.id) order by part.id), '[]'),
    'statuses', coalesce(json_agg(distinct ${partStatusOf('part')}), '[]'),
    'isRunning', coalesce(bool_or(finished_at is null), false),
    'hold', (array_agg(hold order by part.id) filter (where finished_at is null and hold is not null))[1],
    'total', coalesce(sum(total), 0),
    'upgraded', coalesce(sum(${sumOf(['upgraded', 'staged', 'snapshotting'])}), 0),
    'failed', coalesce(sum(${sumOf(['failed'])}), 0))
  from site_upgrade part where part.org_id = org_upgrade.org_id and part.org_upgrade_id = org_upgrade.id)`

/** Newest first. */
export function listOrgUpgrades(reader: Reader, scope: OrgScope, page: Page): Promise<Paged<OrgUpgradeItem>> {
  const hits = reader
    .selectFrom('orgUpgrade')
    .select(['id', upgradeName.as('name'), 'strategy', 'targetVersion', 'createdAt'])
    .select(listedSites.as('sites'))
    .where('orgId', '=', scope.orgId)
    .where('kind', '=', 'device')
  // A site upgrade is two ids.
  const bytes = sql`(select 128 * count(*) + coalesce(max(octet_length(part.hold::text)), 0) from site_upgrade part
    where part.org_id = ${scope.orgId} and part.org_upgrade_id = hit.id) + 2 * octet_length(hit.target_version)`
  return pageOf<OrgUpgradeItem>(reader, { hits, direction: 'desc', sizes: sizesOf(bytes) }, page)
}

/** Locks it against the engine, as the engine does. @throws AppError not_found, also for one of another kind. */
export async function lockOrgUpgrade(
  tx: Tx,
  scope: InOrg,
  { id, kind }: { readonly id: string; readonly kind: UpgradeKind },
): Promise<void> {
  const row = await tx
    .selectFrom('orgUpgrade')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('kind', '=', kind)
    .forUpdate()
    .executeTakeFirst()
  if (row === undefined) throw notFound(id)
}

/** Returns the person who created an upgrade, whose account may be gone; null for a token that belongs to nobody. */
export async function getCreatorId(reader: Reader, scope: InOrg, id: string): Promise<string | null> {
  const query = reader.selectFrom('orgUpgrade').select('adminId').where('orgId', '=', scope.orgId).where('id', '=', id)
  return (await query.executeTakeFirstOrThrow()).adminId
}
