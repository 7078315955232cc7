import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Reader, anyOf } from '../../platform/database/db.ts'
import { inFlightStates } from '../../rollout/rollout.ts'
import { partStatusOf } from '../../rollout/store-part-status.ts'
import { isOffline } from '../store-reasons.ts'
import { restoreReason } from '../store-restores.ts'
import { stopReasonOf } from '../store.ts'
import type {
  Downtime,
  ReportSummary,
  ReportedDownloads,
  ReportedPhase,
  ReportedSite,
  ReportedUpgrade,
} from './report.ts'
import { withEmptied } from './emptied-phases.ts'
import { isReported, leftOut, listReportedEvents } from './store.ts'

/** Reasons and versions are texts of devices, so their number is unbounded. */
const MAX_GROUPS = 200
/** A serial upgrade has a phase for each device. */
const MAX_PHASES = 1000

/** Finds everything but the devices. */
export async function findSummary(reader: Reader, scope: InOrg, upgrade: ReportedUpgrade): Promise<ReportSummary> {
  const downtimes = await listDowntimes(reader, scope, upgrade)
  const sites = await listReportedSites(reader, scope, upgrade)
  return {
    upgrade,
    sites: sites.map((site) => Object.assign(site, { downtime: downtimes.get(site.id) ?? null })),
    downtime: downtimes.get(null) ?? noDowntime,
    offline: await countOffline(reader, scope, upgrade),
    versions: await groupVersions(reader, scope, upgrade),
    failures: await groupFailures(reader, scope, upgrade),
    leftOut: await groupLeftOut(reader, scope, upgrade),
    phases: withEmptied(await listReportedPhases(reader, scope, upgrade), upgrade.gates, (phase) => ({
      phase,
      total: 0,
      upgraded: 0,
      failed: 0,
      underWay: 0,
      cancelled: 0,
      endedAt: null,
    })),
    downloads: withEmptied(await listReportedDownloads(reader, scope, upgrade), upgrade.downloadGates, (phase) => ({
      phase,
      total: 0,
      downloaded: 0,
      failed: 0,
    })),
    events: await listReportedEvents(reader, scope, upgrade),
  }
}

const targets = sql`site_upgrade
  join upgrade_target target on target.org_id = site_upgrade.org_id and target.upgrade_id = site_upgrade.id`

async function listReportedSites(
  reader: Reader,
  scope: InOrg,
  upgrade: ReportedUpgrade,
): Promise<Omit<ReportedSite, 'downtime'>[]> {
  const { rows } = await sql<Omit<ReportedSite, 'downtime'>>`
    select site_upgrade.id, site_id, site.name as site_name, status, ${partStatusOf('site_upgrade')} as part_status, ${stopReasonOf('site_upgrade')} as stop_reason, total, counts, finished_at
    from site_upgrade left join site on site.org_id = site_upgrade.org_id and site.id = site_upgrade.site_id
    where ${isReported(scope, upgrade)} order by site_upgrade.id
  `.execute(reader)
  return rows
}

const noDowntime: Downtime = { devices: 0, longestS: 0, sumS: 0, atOnce: 0, stillDown: 0 }

/**
 * Sums up the outages by site upgrade, with null for all together. A device that was restored for its health has two of them.
 * A device that has not come back counts until its target ended. If one outage ends at the instant at which another begins,
 * they don't overlap.
 */
async function listDowntimes(
  reader: Reader,
  scope: InOrg,
  upgrade: ReportedUpgrade,
): Promise<Map<string | null, Downtime>> {
  const { rows } = await sql<Downtime & { readonly id: string | null }>`
    with outage as materialized (
      select target.upgrade_id, target.device_id, target.down_at,
        coalesce(target.up_again_at, target.up_at, target.entered_at) as until, target.up_at is null as is_last
      from ${targets} where ${isReported(scope, upgrade)} and target.down_at is not null
      union all
      select target.upgrade_id, target.device_id, target.down_again_at, target.up_at, false
      from ${targets} where ${isReported(scope, upgrade)} and target.down_again_at is not null
      union all
      select run.upgrade_id, run.device_id, run.down_at, coalesce(run.up_again_at, run.up_at, run.ended_at), false
      from site_upgrade
      join upgrade_target_run run on run.org_id = site_upgrade.org_id and run.upgrade_id = site_upgrade.id
      where ${isReported(scope, upgrade)} and run.down_at is not null
      union all
      select run.upgrade_id, run.device_id, run.down_again_at, run.up_at, false
      from site_upgrade
      join upgrade_target_run run on run.org_id = site_upgrade.org_id and run.upgrade_id = site_upgrade.id
      where ${isReported(scope, upgrade)} and run.down_again_at is not null
      union all
      select target.upgrade_id, target.device_id, to_timestamp((hop->>'down_ms')::float8 / 1000),
        to_timestamp(coalesce(hop->>'up_ms', hop->>'done_ms')::float8 / 1000), false
      from ${targets} cross join lateral jsonb_array_elements(target.path) hop
      where ${isReported(scope, upgrade)} and target.path is not null and hop ? 'down_ms'
    ), edge as (
      select upgrade_id, down_at as at, 1 as change from outage
      union all select upgrade_id, until, -1 from outage
    ), running as (
      select upgrade_id, sum(change) over (partition by upgrade_id order by at, change rows unbounded preceding) as here,
        sum(change) over (order by at, change rows unbounded preceding) as everywhere
      from edge
    ), peak as (
      select upgrade_id, case when grouping(upgrade_id) = 0 then max(here) else max(everywhere) end as at_once
      from running group by grouping sets ((upgrade_id), ())
    ), total as (
      select upgrade_id, count(distinct device_id)::integer as devices,
        max(extract(epoch from until - down_at))::float8 as longest_s,
        sum(extract(epoch from until - down_at))::float8 as sum_s,
        (count(*) filter (where is_last))::integer as still_down
      from outage group by grouping sets ((upgrade_id), ())
    )
    select total.upgrade_id as id, devices, coalesce(longest_s, 0) as longest_s, coalesce(sum_s, 0) as sum_s, still_down,
      coalesce(at_once, 0)::integer as at_once
    from total left join peak on peak.upgrade_id is not distinct from total.upgrade_id
  `.execute(reader)
  return new Map(rows.map(({ id, ...downtime }) => [id, downtime]))
}

async function countOffline(reader: Reader, scope: InOrg, upgrade: ReportedUpgrade): Promise<number> {
  const { rows } = await sql<{ readonly devices: number }>`
    select count(*)::integer as devices from ${targets} where ${isReported(scope, upgrade)} and ${isOffline}
  `.execute(reader)
  return rows[0]?.devices ?? 0
}

async function groupVersions(
  reader: Reader,
  scope: InOrg,
  upgrade: ReportedUpgrade,
): Promise<ReportSummary['versions']> {
  const { rows } = await sql<ReportSummary['versions'][number]>`
    select target.from_version as "from", coalesce(target.path->-1->>'version', target.target_version) as "to", count(*)::integer as devices
    from ${targets} where ${isReported(scope, upgrade)}
    group by 1, 2 order by 3 desc, 1, 2 limit ${MAX_GROUPS}
  `.execute(reader)
  return rows
}

async function groupFailures(
  reader: Reader,
  scope: InOrg,
  upgrade: ReportedUpgrade,
): Promise<ReportSummary['failures']> {
  const { rows } = await sql<ReportSummary['failures'][number]>`
    select target.reason, ${restoreReason} as restore_reason, count(*)::integer as devices
    from ${targets} where ${isReported(scope, upgrade)} and target.state = 'failed'
    group by 1, 2 order by 3 desc, 1, 2 limit ${MAX_GROUPS}
  `.execute(reader)
  return rows
}

async function groupLeftOut(reader: Reader, scope: InOrg, upgrade: ReportedUpgrade): Promise<ReportSummary['leftOut']> {
  const { rows } = await sql<ReportSummary['leftOut'][number]>`
    select reason, count(*)::integer as devices from site_upgrade cross join lateral (${leftOut}) left_out
    where ${isReported(scope, upgrade)}
    group by 1 order by 2 desc, 1 limit ${MAX_GROUPS}
  `.execute(reader)
  return rows
}

/** While a snapshot is taken, the device counts as upgraded. */
const underWayStates = ['downloaded', ...inFlightStates.filter((state) => state !== 'snapshotting')] as const

async function listReportedPhases(reader: Reader, scope: InOrg, upgrade: ReportedUpgrade): Promise<ReportedPhase[]> {
  const { rows } = await sql<ReportedPhase>`
    select target.phase, count(*)::integer as total,
      (count(*) filter (where target.state in ('upgraded', 'staged', 'snapshotting')))::integer as upgraded,
      (count(*) filter (where target.state = 'failed'))::integer as failed,
      (count(*) filter (where target.state = ${anyOf(underWayStates)}))::integer as under_way,
      (count(*) filter (where target.state = 'cancelled'))::integer as cancelled,
      case when bool_and(target.state in ('upgraded', 'staged', 'failed', 'skipped', 'cancelled'))
        then max(target.entered_at) end as ended_at
    from ${targets} where ${isReported(scope, upgrade)} and target.phase > 0
    group by 1 order by 1 limit ${MAX_PHASES}
  `.execute(reader)
  return rows
}

async function listReportedDownloads(
  reader: Reader,
  scope: InOrg,
  upgrade: ReportedUpgrade,
): Promise<ReportedDownloads[]> {
  const hasImage = sql`(target.staged or target.fetched or target.state in ('upgraded', 'staged'))`
  const { rows } = await sql<ReportedDownloads>`
    select target.download_phase as phase, count(*)::integer as total,
      (count(*) filter (where ${hasImage}))::integer as downloaded,
      (count(*) filter (where target.state = 'failed' and not ${hasImage}))::integer as failed
    from ${targets} where ${isReported(scope, upgrade)} and target.download_phase is not null
    group by 1 order by 1 limit ${MAX_PHASES}
  `.execute(reader)
  return rows
}
