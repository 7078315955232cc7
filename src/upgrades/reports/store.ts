import { type RawBuilder, sql } from 'kysely'
import type { InOrg, OrgScope, SiteScope, SitesScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import type { Reader } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'
import type { UpgradeEvent } from '../../rollout/events/store.ts'
import type { UpgradeKind } from '../../rollout/rollout.ts'
import { startGate } from '../../rollout/store.ts'
import { isNamed } from '../site/store.ts'
import { upgradeName } from '../store.ts'
import { shownReason } from '../store-reasons.ts'
import { restoreReason } from '../store-restores.ts'
import type { LeftOutDevice, ReportedDevice, ReportedUpgrade } from './report.ts'

/** @throws AppError not_found, also for one of another kind. */
export async function getReported(
  reader: Reader,
  scope: OrgScope,
  id: string,
  kind: UpgradeKind = 'device',
): Promise<ReportedUpgrade> {
  const upgrade = await reader
    .selectFrom('orgUpgrade')
    .select(['id as orgUpgradeId', 'strategy', 'targetVersion', 'createdAt', 'maxFailurePercentage', 'planned'])
    .select([
      upgradeName.as('name'),
      'currentPhase',
      sql<number | null>`(request->>'failure_budget')::integer`.as('failureBudget'),
      'approvals',
      startGate.as('startGate'),
      endTime.as('endS'),
      sql<ReportedUpgrade['gates']>`nullif(phase_plan->'gates', 'null')`.as('gates'),
      sql<ReportedUpgrade['gates']>`nullif(download_plan->'gates', 'null')`.as('downloadGates'),
      sql<number | null>`(downloads->>'current')::integer`.as('currentDownloads'),
    ])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('kind', '=', kind)
    .executeTakeFirst()
  if (upgrade === undefined) throw notFound(id)
  return { ...upgrade, siteUpgradeId: null }
}

/** When an upgrade stops by itself, in epoch seconds, as requested; null: never, for which clients also send 0. */
export const endTime = sql<number | null>`nullif((request->>'end_time')::float8, 0)`

/** @throws AppError not_found, also for one of another site or kind. */
export async function getReportedOfSite(
  reader: Reader,
  scope: SiteScope,
  id: string,
  kind: UpgradeKind,
): Promise<ReportedUpgrade> {
  const upgrade = await reader
    .selectFrom('siteUpgrade')
    .innerJoin('orgUpgrade', (join) =>
      join.onRef('orgUpgrade.orgId', '=', 'siteUpgrade.orgId').onRef('orgUpgrade.id', '=', 'siteUpgrade.orgUpgradeId'),
    )
    .select(['siteUpgrade.id as siteUpgradeId', 'orgUpgradeId', 'strategy', 'targetVersion', 'orgUpgrade.createdAt'])
    .select([
      upgradeName.as('name'),
      'siteUpgrade.currentPhase',
      sql<number | null>`(plan->>'max_failure_percentage')::float8`.as('maxFailurePercentage'),
      sql<number>`(plan->>'planned')::integer`.as('planned'),
      // The budget is one for all sites.
      sql<null>`null`.as('failureBudget'),
      sql<ReportedUpgrade['gates']>`nullif(plan->'gates', 'null')`.as('gates'),
      sql<ReportedUpgrade['gates']>`nullif(plan->'downloads'->'gates', 'null')`.as('downloadGates'),
      sql<number | null>`(site_upgrade.downloads->>'current')::integer`.as('currentDownloads'),
      'orgUpgrade.approvals',
      startGate.as('startGate'),
      endTime.as('endS'),
    ])
    .where('siteUpgrade.orgId', '=', scope.orgId)
    .where('siteUpgrade.siteId', '=', scope.siteId)
    .where(isNamed(id))
    .where('orgUpgrade.kind', '=', kind)
    .executeTakeFirst()
  if (upgrade === undefined) throw notFound(id)
  return upgrade
}

/** The condition that `site_upgrade` belongs to the report. */
export function isReported({ orgId }: InOrg, { orgUpgradeId, siteUpgradeId }: ReportedUpgrade): RawBuilder<boolean> {
  const whole = sql<boolean>`site_upgrade.org_id = ${orgId} and site_upgrade.org_upgrade_id = ${orgUpgradeId}`
  return siteUpgradeId === null ? whole : sql<boolean>`${whole} and site_upgrade.id = ${siteUpgradeId}`
}

/** Lists the events of the upgrade as a whole and of the reported sites, in order. */
export async function listReportedEvents(
  reader: Reader,
  scope: InOrg,
  { orgUpgradeId, siteUpgradeId }: ReportedUpgrade,
): Promise<UpgradeEvent[]> {
  const { rows } = await sql<{ readonly event: UpgradeEvent }>`
    select event from upgrade_event
    where org_id = ${scope.orgId} and org_upgrade_id = ${orgUpgradeId}
      and (${siteUpgradeId}::text is null or coalesce(event->>'site_upgrade_id', ${siteUpgradeId}::text) = ${siteUpgradeId}::text)
    order by id
  `.execute(reader)
  return rows.map(({ event }) => event)
}

/** Targets of one statement: the memory of a report depends on this number only. */
export const DEVICES_PER_PART = 1000

/** A position in the order of the devices. */
export type DeviceKey = Pick<ReportedDevice, 'upgradeId' | 'deviceId'>

/** The name of a device in the scope; null for one that is at a site outside of it by now. */
const nameIn = (scope: SitesScope): RawBuilder<string | null> =>
  sql`case when ${inSites(scope, sql.ref('device.site_id'))} then device.name end`

/** Lists targets of these site upgrades after `after`. A part that is shorter than DEVICES_PER_PART is the last. */
export async function listReportedDevices(
  reader: Reader,
  scope: SitesScope,
  { siteUpgradeIds, after }: { readonly siteUpgradeIds: readonly string[]; readonly after: DeviceKey },
): Promise<ReportedDevice[]> {
  const { rows } = await sql<ReportedDevice>`
    select upgrade_id, device_id, mac, model, phase, download_phase, state, ${shownReason} as reason, from_version, target_version, path,
      attempt, run, entered_at, down_at, up_at, up_again_at, down_again_at, ${restoreReason} as restore_reason,
      (select ${nameIn(scope)} from device where device.org_id = ${scope.orgId} and device.id = target.device_id) as name
    from upgrade_target target
    where org_id = ${scope.orgId} and upgrade_id = any(${siteUpgradeIds}::uuid[])
      and (upgrade_id, device_id) > (${after.upgradeId}::uuid, ${after.deviceId}::uuid)
    order by upgrade_id, device_id limit ${DEVICES_PER_PART}
  `.execute(reader)
  return rows
}

/**
 * Lists the devices that are left out at the site upgrade after `after`, in the order of their ids.
 * @returns Undefined after the last site upgrade.
 */
export async function findLeftOut(
  reader: Reader,
  scope: SitesScope,
  { upgrade, after }: { readonly upgrade: ReportedUpgrade; readonly after: string },
): Promise<{ readonly upgradeId: string; readonly devices: readonly LeftOutDevice[] } | undefined> {
  const { rows } = await sql<{ readonly upgradeId: string; readonly devices: readonly LeftOutDevice[] }>`
    select site_upgrade.id as upgrade_id, (
      select json_agg(json_build_object('siteId', site_upgrade.site_id, 'mac', left_out.mac, 'reason', reason,
        'name', ${nameIn(scope)}, 'model', device.model) order by left_out.device_id)
      from (${leftOut}) left_out
      left join device on device.org_id = site_upgrade.org_id and device.id = left_out.device_id) as devices
    from site_upgrade
    where ${isReported(scope, upgrade)} and site_upgrade.id > ${after}::uuid and exists (${leftOut})
    order by site_upgrade.id limit 1
  `.execute(reader)
  return rows[0]
}

/** The id of the device that a note is about: it contains the MAC. */
const notedId = sql`('00000000-0000-0000-1000-' || (note->>'mac'))::uuid`

/**
 * The devices that a note of `site_upgrade` is about, and those that could not join it later. Targets are reported as such,
 * also if the plan skipped them.
 */
export const leftOut = sql`
  select mac, reason, device_id from (
    select note->>'mac' as mac, note->>'reason' as reason, ${notedId} as device_id
    from jsonb_array_elements(site_upgrade.notes) note where note ? 'mac' and not exists (
      select from upgrade_joining_failure failure where failure.org_id = site_upgrade.org_id
        and failure.upgrade_id = site_upgrade.id and failure.device_id = ${notedId})
    union all
    select mac, reason, device_id from upgrade_joining_failure failure
    where failure.org_id = site_upgrade.org_id and failure.upgrade_id = site_upgrade.id) named
  where not exists (
    select from upgrade_target target
    where target.org_id = site_upgrade.org_id and target.upgrade_id = site_upgrade.id
      and target.device_id = named.device_id)`
