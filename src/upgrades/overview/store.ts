import { type RawBuilder, sql } from 'kysely'
import { type InOrg, type PlaceScope, siteIdOf } from '../../access/scope.ts'
import { siteOf } from '../../mxedges/upgrades/store-place.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { smallRows } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import { awaitedCount as awaitedAppliances } from '../../mxedges/upgrades/store-awaited.ts'
import type { Reader } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'
import { awaitedCount } from '../../rollout/changes/store-awaited.ts'
import { partStatusOf } from '../../rollout/store-part-status.ts'
import { endTime } from '../reports/store.ts'
import { concernsOthers, isNamed } from '../site/store.ts'
import { countsOfSites, hasStopReason, upgradeName } from '../store.ts'
import type { OverviewKind, UpgradeOverview } from './overview.ts'

interface Listed {
  readonly kind: OverviewKind | null
  /** Only upgrades that run and wait. */
  readonly isHeld: boolean
  readonly page: Page
  /** Upgrades whose `end_time` is over by then await none. */
  readonly at: Date
}

/**
 * Lists the upgrades of all kinds, or of one, the newest first: ids contain the time of their creation. At a site they are
 * those with devices or edge appliances of it, and have only these. Those of appliances that were created there stay there.
 */
export function listOverviews(
  reader: Reader,
  scope: PlaceScope,
  { kind, isHeld, page, at }: Listed,
): Promise<Paged<UpgradeOverview>> {
  const siteId = siteIdOf(scope)
  const hits = siteId === null ? hitsInOrg(scope, { kind, isHeld }) : hitsAtSite(scope, siteId, { kind, isHeld })
  return pageOf<UpgradeOverview>(
    reader,
    { hits, rows: overviewsIn(scope, at), direction: 'desc', sizes: smallRows },
    page,
  )
}

type Filter = Pick<Listed, 'kind' | 'isHeld'>

function hitsInOrg({ orgId }: InOrg, { kind, isHeld }: Filter): RawBuilder<unknown> {
  const ids = sql`select part.org_upgrade_id from site_upgrade part where part.org_id = ${orgId} and ${waits('part')}`
  return sql`(select id from org_upgrade where org_id = ${orgId} and (${kind}::text is null or kind = ${kind})
      and ${isHeld ? sql`id in (${ids})` : sql`true`})
    union all (select id from mxedge_upgrade upgrade where org_id = ${orgId} and coalesce(${kind}, 'mxedge') = 'mxedge'
      and ${isHeld ? waits('upgrade') : sql`true`})`
}

function hitsAtSite({ orgId }: InOrg, siteId: string, { kind, isHeld }: Filter): RawBuilder<unknown> {
  return sql`(select upgrade.id from site_upgrade part
      join org_upgrade upgrade on upgrade.org_id = part.org_id and upgrade.id = part.org_upgrade_id
      where part.org_id = ${orgId} and part.site_id = ${siteId} and (${kind}::text is null or upgrade.kind = ${kind})
      and ${isHeld ? waits('part') : sql`true`})
    union (select upgrade.id from mxedge_upgrade upgrade
      where upgrade.org_id = ${orgId} and upgrade.site_id = ${siteId} and coalesce(${kind}, 'mxedge') = 'mxedge'
      and ${isHeld ? waits('upgrade') : sql`true`})
    union (select upgrade.id from mxedge
      join mxedge_upgrade_target target on target.org_id = mxedge.org_id and target.mxedge_id = mxedge.id
      join mxedge_upgrade upgrade on upgrade.org_id = target.org_id and upgrade.id = target.upgrade_id
      where mxedge.org_id = ${orgId} and mxedge.site_id = ${siteId} and coalesce(${kind}, 'mxedge') = 'mxedge'
      and ${isHeld ? waits('upgrade') : sql`true`})`
}

/** An upgrade of devices or routers has the id of its part at the site, too: see isNamed(). */
function namedAtSite(scope: InOrg, siteId: string, id: string): RawBuilder<unknown> {
  return sql`select id from (${hitsAtSite(scope, siteId, { kind: null, isHeld: false })}) hit
    where id = ${id} or id in (
      select org_upgrade_id from site_upgrade where org_id = ${scope.orgId} and site_id = ${siteId} and ${isNamed(id)})`
}

function waits(table: 'part' | 'upgrade'): RawBuilder<boolean> {
  return sql`${sql.ref(`${table}.hold`)} is not null and ${sql.ref(`${table}.finished_at`)} is null`
}

/** @throws AppError not_found */
export async function getOverview(
  reader: Reader,
  scope: PlaceScope,
  { id, at }: { readonly id: string; readonly at: Date },
): Promise<UpgradeOverview> {
  const siteId = siteIdOf(scope)
  const page = siteId === null ? sql`select ${id}::uuid as id` : namedAtSite(scope, siteId, id)
  const { rows } = await sql<UpgradeOverview>`
    with page as (${page}) ${overviewsIn(scope, at)}
  `.execute(reader)
  const [overview] = rows
  if (overview === undefined) throw notFound(id)
  return overview
}

/**
 * The upgrades whose ids are in `page`, as far as they are in the scope. While an upgrade runs, only its running sites count
 * for `stop_reason`, and all of them must stop: one that was stopped earlier keeps its reason when devices of other sites are
 * retried, and one that stops alone leaves the others as they are. A site that has lost all its devices does not say why another one
 * has failed, which may have no reason.
 */
function overviewsIn(scope: PlaceScope, at: Date): RawBuilder<unknown> {
  const { orgId } = scope
  const siteId = siteIdOf(scope)
  return sql`
    select upgrade.id, upgrade.kind, ${upgradeName} as name, upgrade.strategy, upgrade.target_version, null::jsonb as versions, null::text as distro,
      upgrade.created_at, whole.start_at, ${endTime} as end_s, whole.statuses, whole.is_running, whole.hold, whole.stop_reason, whole.waits_until, whole.sites,
      ${siteId === null ? sql`false` : concernsOthers(siteId)} as has_other_sites, counted.counts,
      ${awaitedIn(siteId)} as awaited
    from page join org_upgrade upgrade on upgrade.org_id = ${orgId} and upgrade.id = page.id
    cross join lateral (
      select min(part.start_at) as start_at, coalesce(bool_or(part.finished_at is null), false) as is_running,
        coalesce(array_agg(distinct ${partStatusOf('part')}), '{}') as statuses, count(*)::integer as sites,
        min(part.waits_until) filter (where part.finished_at is null) as waits_until,
        (array_agg(part.hold order by part.id) filter (where part.finished_at is null and part.hold is not null))[1] as hold,
        case when bool_or(part.finished_at is null)
          then case when bool_and(part.stopping is not null) filter (where part.finished_at is null)
            then (array_agg(part.stop_reason order by part.id) filter (where part.finished_at is null))[1] end
          else (array_agg(part.stop_reason order by ${partStatusOf('part')} = 'released', part.stop_reason is null, part.id)
            filter (where ${hasStopReason('part')} or part.status = 'failed'))[1] end as stop_reason
      from site_upgrade part where part.org_id = upgrade.org_id and part.org_upgrade_id = upgrade.id
        and ${isAt(sql`part.site_id`, siteId)}) whole
    cross join lateral (${countsOfSites(isAt(sql`part.site_id`, siteId))}) counted
    union all
    select upgrade.id, 'mxedge', ${upgradeName}, upgrade.plan->>'strategy', null, coalesce(upgrade.request->'versions', '{}'),
      upgrade.request->>'distro', upgrade.created_at, upgrade.start_at, ${endTime}, array[upgrade.status],
      upgrade.finished_at is null, upgrade.hold,
      case when ${hasStopReason('upgrade')} then upgrade.stop_reason end, upgrade.waits_until, null, ${siteId === null ? sql`false, upgrade.counts` : ofSite(siteId)},
      (select ${awaitedAppliances(at)} from mxedge_upgrade where mxedge_upgrade.org_id = upgrade.org_id and mxedge_upgrade.id = upgrade.id)
    from page join mxedge_upgrade upgrade on upgrade.org_id = ${orgId} and upgrade.id = page.id
    ${siteId === null ? sql`` : sql`cross join lateral (select ${siteOf('upgrade')} as site_id offset 0) place`}`
}

function isAt(column: RawBuilder<unknown>, siteId: string | null): RawBuilder<boolean> {
  return siteId === null ? sql`true` : sql`${column} = ${siteId}`
}

/** The number of devices that `upgrade` awaits. Nearly all upgrades await none, whose sites are not read. */
function awaitedIn(siteId: string | null): RawBuilder<number> {
  return sql`case when upgrade.include_due_ms is null or upgrade.stopping is not null then 0 else (
    select coalesce(sum(${awaitedCount}), 0)::integer from site_upgrade where site_upgrade.org_id = upgrade.org_id
      and site_upgrade.org_upgrade_id = upgrade.id and ${isAt(sql`site_upgrade.site_id`, siteId)}) end`
}

/** Whether `upgrade` of appliances belongs to another `place` than a site, and its counts: of all that it has, or of those that are there now. */
function ofSite(siteId: string): RawBuilder<unknown> {
  return sql`place.site_id is distinct from ${siteId},
    case when place.site_id = ${siteId} then upgrade.counts else ${countsOfAppliances(siteId)} end`
}

/** The appliances of `upgrade` that are at a site now, by state. */
function countsOfAppliances(siteId: string): RawBuilder<unknown> {
  return sql`(select jsonb_object_agg(state, targets) from (
    select target.state, count(*)::integer as targets from mxedge
    join mxedge_upgrade_target target on target.org_id = mxedge.org_id and target.mxedge_id = mxedge.id
    where mxedge.org_id = upgrade.org_id and mxedge.site_id = ${siteId} and target.upgrade_id = upgrade.id
    group by target.state) by_state)`
}
