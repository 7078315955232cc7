import { sql } from 'kysely'
import { siteOf } from '../../mxedges/upgrades/store-place.ts'
import type { Reader } from '../../platform/database/db.ts'
import type { UpgradeHold } from '../../rollout/rollout.ts'
import { upgradeName } from '../store.ts'

export interface TroubledUpgrade {
  readonly kind: 'device' | 'mxedge'
  /** Null: it has none. */
  readonly name: string | null
  readonly orgId: string
  /** The organization's upgrade, where its parts have ids of their own. */
  readonly upgradeId: string
  /** Null: several sites are concerned. */
  readonly siteId: string | null
  /** Empty: it depends on what is upgraded. */
  readonly version: string
  readonly reason: string | null
}

/** It is paused until a person decides. */
export interface HeldUpgrade extends TroubledUpgrade {
  readonly by: Extract<UpgradeHold['by'], 'approval' | 'gate'>
  readonly reason: string
}

/**
 * Lists upgrades that have failed, at a site or as a whole, since an instant, and have had no alarm since they were last retried there. One
 * whose retry succeeded ends as failed for what an earlier stop had cancelled, which had its alarm then.
 */
export async function listFailedUpgrades(reader: Reader, since: Date): Promise<TroubledUpgrade[]> {
  const { rows } = await sql<TroubledUpgrade>`
    select 'device' as kind, ${upgradeName} as name, org_upgrade.org_id, org_upgrade.id as upgrade_id, org_upgrade.target_version as version,
      case when count(*) = 1 then min(site_upgrade.site_id::text) end as site_id, min(site_upgrade.stop_reason) as reason
    from site_upgrade
    join org_upgrade on org_upgrade.org_id = site_upgrade.org_id and org_upgrade.id = site_upgrade.org_upgrade_id
    where site_upgrade.status = 'failed' and site_upgrade.finished_at > ${since} and (site_upgrade.counts ->> 'failed')::integer > 0
      and not exists (
        select from alarm
        where alarm.org_id = org_upgrade.org_id and alarm.type = 'upgrade_failed'
          and alarm.subject = org_upgrade.id::text
          and not exists (
            select from upgrade_target_run run
            where run.org_id = site_upgrade.org_id and run.upgrade_id = site_upgrade.id
              and run.retried_at > alarm.last_seen_at))
    group by org_upgrade.org_id, org_upgrade.id
    union all
    select 'mxedge', ${upgradeName}, org_id, id, '', ${siteOf('mxedge_upgrade')}::text, stop_reason
    from mxedge_upgrade
    where status = 'failed' and finished_at > ${since} and (counts ->> 'failed')::integer > 0
      and not exists (
        select from alarm
        where alarm.org_id = mxedge_upgrade.org_id and alarm.type = 'upgrade_failed'
          and alarm.subject = mxedge_upgrade.id::text
          and not exists (
            select from mxedge_upgrade_target target, jsonb_array_elements(target.runs) run
            where target.org_id = mxedge_upgrade.org_id and target.upgrade_id = mxedge_upgrade.id
              and to_timestamp((run ->> 'retried_at')::float8) > alarm.last_seen_at))
  `.execute(reader)
  return rows
}

/**
 * Lists upgrades that are paused until a person decides, except those that a person has paused. A check or a
 * time ends its wait by itself.
 */
export async function listHeldUpgrades(reader: Reader): Promise<HeldUpgrade[]> {
  const { rows } = await sql<HeldUpgrade>`
    select 'device' as kind, ${upgradeName} as name, org_id, id as upgrade_id, null as site_id, target_version as version,
      hold ->> 'reason' as reason, hold ->> 'by' as by
    from org_upgrade where hold ->> 'by' in ('approval', 'gate') and stopping is null
    union all
    select 'device', ${upgradeName}, org_upgrade.org_id, org_upgrade.id, case when count(*) = 1 then min(site_upgrade.site_id::text) end,
      org_upgrade.target_version, min(site_upgrade.hold ->> 'reason'),
      (array_agg(site_upgrade.hold ->> 'by' order by site_upgrade.hold ->> 'reason'))[1]
    from site_upgrade
    join org_upgrade on org_upgrade.org_id = site_upgrade.org_id and org_upgrade.id = site_upgrade.org_upgrade_id
    where site_upgrade.hold ->> 'by' in ('approval', 'gate') and site_upgrade.finished_at is null
      and org_upgrade.hold is null
    group by org_upgrade.org_id, org_upgrade.id
    union all
    select 'mxedge', ${upgradeName}, org_id, id, ${siteOf('mxedge_upgrade')}::text, '', hold ->> 'reason', hold ->> 'by'
    from mxedge_upgrade
    where hold ->> 'by' in ('approval', 'gate') and finished_at is null and stopping is null
  `.execute(reader)
  return rows
}

/** Lists the upgrades with an open alarm about their pause. */
export async function listHeldAlarms(reader: Reader): Promise<{ readonly orgId: string; readonly subject: string }[]> {
  return reader
    .selectFrom('alarm')
    .select(['orgId', 'subject'])
    .where('type', '=', 'upgrade_held')
    .where('endedAt', 'is', null)
    .execute()
}
