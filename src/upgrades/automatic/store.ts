import { type RawBuilder, sql } from 'kysely'
import type { SiteScope } from '../../access/scope.ts'
import type { Db, Reader, Tx } from '../../platform/database/db.ts'
import { addMs } from '../../platform/time/clock.ts'
import { OFFLINE } from '../../rollout/rollout.ts'
import type { AutoUpgradeSite } from './auto-upgrade.ts'
import type { Failure } from './decide-held.ts'

/** The sites whose settings, or else those of their organization, turn automatic upgrades on. */
const enabled = sql`
  select org_id, site_id, auto_upgrade as rule, auto_upgrade_hash as rule_hash
  from site_setting where auto_upgrade @> '{"enabled": true}'
  union all
  select of_org.org_id, site.id, of_org.auto_upgrade, of_org.auto_upgrade_hash
  from org_setting of_org
    join site on site.org_id = of_org.org_id
    left join site_setting own on own.org_id = site.org_id and own.site_id = site.id
  where of_org.auto_upgrade @> '{"enabled": true}' and own.auto_upgrade is null`

/** The fields of the setting that have an effect; null is as none. The others may have a megabyte, which would be parsed for each site. */
const knownFields = sql`(select coalesce(jsonb_object_agg(name, value), '{}') from jsonb_each(enabled.rule) field (name, value)
  where name in ('version', 'custom_versions', 'day_of_week', 'time_of_day') and value <> 'null')`

/** True if `auto` has the time for the setting and the zone. The next time is never in more than a week. */
function isKnown(now: Date): RawBuilder<boolean> {
  return sql`auto.rule_hash = enabled.rule_hash and auto.timezone = site.timezone and auto.due_at < ${addMs(now, FARTHEST_MS)}`
}

/** A week, and a change of the clocks. */
const FARTHEST_MS = 8 * 24 * 3600e3

/**
 * Lists sites whose automatic upgrades are due, or whose time must be computed, in the order of their ids.
 * @param after The last site of the portion before.
 */
export async function listDueSites(
  reader: Reader,
  { now, after, limit }: { readonly now: Date; readonly after: string | null; readonly limit: number },
): Promise<SitePlace[]> {
  const { rows } = await sql<SitePlace>`
    select site.org_id, site.id as site_id
    from (${enabled}) enabled
      join site on site.org_id = enabled.org_id and site.id = enabled.site_id
      left join site_auto_upgrade auto on auto.org_id = site.org_id and auto.site_id = site.id
    where (auto.due_at <= ${now} or (${isKnown(now)}) is not true)
      and (${after}::uuid is null or site.id > ${after})
    order by site.id
    limit ${limit}`.execute(reader)
  return rows
}

export interface SitePlace {
  readonly orgId: string
  readonly siteId: string
}

/** The setting that applies in the site, and what is recorded about its upgrades; undefined where no setting applies. */
export async function findAutoUpgrade(
  reader: Reader,
  scope: SiteScope,
  now: Date,
): Promise<AutoUpgradeSite | undefined> {
  const { rows } = await sql<AutoUpgradeSite>`
    select site.id as site_id, ${knownFields} as rule, enabled.rule_hash, site.timezone, auto.due_at, auto.ran_at, auto.upgrade_id, auto.reason
    from (${enabled}) enabled
      join site on site.org_id = enabled.org_id and site.id = enabled.site_id
      left join site_auto_upgrade auto on auto.org_id = site.org_id and auto.site_id = site.id and ${isKnown(now)}
    where site.org_id = ${scope.orgId} and site.id = ${scope.siteId}`.execute(reader)
  return rows[0]
}

/** Forgets the sites whose setting is turned off: a time that passes meanwhile is over, and what failed may be tried again. */
export async function deleteTimes(db: Db): Promise<void> {
  await sql`
    delete from site_auto_upgrade auto
    where not exists (select from (${enabled}) enabled where enabled.org_id = auto.org_id and enabled.site_id = auto.site_id)`.execute(
    db,
  )
}

/**
 * Sets when the automatic upgrades of a site are due. What came of earlier ones is forgotten with another setting, and kept with another
 * zone.
 */
export async function upsertTime(
  tx: Tx,
  { orgId, siteId }: SiteScope,
  { ruleHash, timezone, dueAt }: Pick<AutoUpgradeSite, 'ruleHash' | 'timezone'> & { readonly dueAt: Date },
): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('siteAutoUpgrade')
    .set({ timezone, dueAt })
    .where('orgId', '=', orgId)
    .where('siteId', '=', siteId)
    .where('ruleHash', '=', ruleHash)
    .executeTakeFirst()
  if (numUpdatedRows > 0n) return
  const fresh = { ruleHash, timezone, dueAt, ranAt: null, upgradeId: null, failedIds: [], reason: null }
  await tx
    .insertInto('siteAutoUpgrade')
    .values({ orgId, siteId, ...fresh })
    .onConflict((conflict) => conflict.columns(['orgId', 'siteId']).doUpdateSet(fresh))
    .execute()
}

/** What came of the time at which upgrades were due. */
export interface AutoUpgradeRun {
  readonly dueAt: Date
  readonly at: Date
  readonly nextAt: Date
  /** The site upgrade that began, or why none did. */
  readonly result: { readonly upgradeId: string } | { readonly reason: string }
}

/** The earlier upgrades that matter to the next one: those that are gone, succeeded or ended without a failure do not. */
const failedSoFar = sql<string[]>`array(
  select part.id from site_upgrade part
  where part.org_id = site_auto_upgrade.org_id and part.id = any(site_auto_upgrade.failed_ids || site_auto_upgrade.upgrade_id)
    and part.status <> 'completed' and (part.finished_at is null or part.hard_failures <> '{}'))`

/** @returns False: another process has done it, or the setting has changed. */
export async function updateRun(
  tx: Tx,
  scope: SiteScope,
  { dueAt, at, nextAt, result }: AutoUpgradeRun,
): Promise<boolean> {
  const begun = 'upgradeId' in result ? { upgradeId: result.upgradeId, failedIds: failedSoFar } : {}
  const reason = 'reason' in result ? result.reason : null
  const { numUpdatedRows } = await tx
    .updateTable('siteAutoUpgrade')
    .set({ dueAt: nextAt, ranAt: at, reason, ...begun })
    .where('orgId', '=', scope.orgId)
    .where('siteId', '=', scope.siteId)
    .where('dueAt', '=', dueAt)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Lists the ids of the access points of the site that are connected. */
export async function listConnectedAps(reader: Reader, scope: SiteScope): Promise<Set<string>> {
  const rows = await reader
    .selectFrom('device')
    .innerJoin('deviceStatus as status', (on) =>
      on.onRef('status.orgId', '=', 'device.orgId').onRef('status.deviceId', '=', 'device.id'),
    )
    .select('device.id')
    .where('device.orgId', '=', scope.orgId)
    .where('device.siteId', '=', scope.siteId)
    .where('device.type', '=', 'ap')
    .where('status.connected', '=', true)
    .execute()
  return new Set(rows.map(({ id }) => id))
}

/**
 * Lists the devices at the site that failed in an automatic upgrade with its setting, if the upgrade has not succeeded otherwise.
 * That a device was offline says nothing about its version.
 */
export async function listFailures(reader: Reader, { orgId, siteId }: SiteScope): Promise<Failure[]> {
  const { rows } = await sql<Failure>`
    select target.device_id, target.model, coalesce(target.path -> -1 ->> 'version', target.target_version) as version,
      coalesce((command.outcome ->> 'final')::boolean, false) as is_final
    from site_auto_upgrade auto
      join site_upgrade part on part.org_id = auto.org_id and part.id = any(auto.failed_ids || auto.upgrade_id) and part.status <> 'completed'
      join upgrade_target target on target.org_id = part.org_id and target.upgrade_id = part.id and target.state = 'failed'
        and target.reason is distinct from ${OFFLINE}
      join device on device.org_id = target.org_id and device.id = target.device_id and device.site_id = auto.site_id
      left join device_command command on command.org_id = target.org_id and command.id = target.command_id
    where auto.org_id = ${orgId} and auto.site_id = ${siteId}`.execute(reader)
  return rows
}
