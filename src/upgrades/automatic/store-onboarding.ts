import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Db, type Tx, anyOf } from '../../platform/database/db.ts'
import type { NewDevice } from './onboarding.ts'

/** The sites with such a setting of their own or of their organization: one row for each setting. */
const effective = sql`
  select place.org_id, place.site_id, setting,
    (coalesce(of_org.onboarding, '{}') || coalesce(own.onboarding, '{}')) -> setting as rule
  from (
      select org_id, site_id from site_setting where onboarding @? '$.* ? (@.enabled == true)'
      union
      select site.org_id, site.id from org_setting join site on site.org_id = org_setting.org_id
      where org_setting.onboarding @? '$.* ? (@.enabled == true)'
    ) place
    left join org_setting of_org on of_org.org_id = place.org_id
    left join site_setting own on own.org_id = place.org_id and own.site_id = place.site_id
    cross join unnest(array['juniper_srx', 'ssr', 'switch']) setting`
const enabled = sql`select * from (${effective}) effective where rule @> '{"enabled": true}'`

/**
 * Records which sites have such a setting. Where it is new, devices that have connected before are not new; those at sites that had one
 * already may not have been looked at.
 */
export async function updateOnboardingSites(db: Db): Promise<void> {
  await sql`
    with enabled as materialized (${enabled}),
      gone as (
        delete from onboarding_site old
        where not exists (select from enabled where enabled.org_id = old.org_id and enabled.site_id = old.site_id
          and enabled.setting = old.setting)),
      fresh as (
        insert into onboarding_site (org_id, site_id, setting) select org_id, site_id, setting from enabled
        on conflict do nothing returning org_id)
    insert into onboarded_device (org_id, device_id)
    select device.org_id, device.id
    from device join device_status status on status.org_id = device.org_id and status.device_id = device.id
    where device.org_id in (select org_id from fresh) and device.type in ('switch', 'gateway')
      and status.connected_at is not null
      and not exists (select from onboarding_site old where old.org_id = device.org_id and old.site_id = device.site_id)
    on conflict do nothing`.execute(db)
}

/** Lists devices that are connected and new at a site that has the setting for their type. */
export async function listNewDevices(db: Db, limit: number): Promise<NewDevice[]> {
  const { rows } = await sql<NewDevice>`
    select device.org_id, device.site_id, device.id, device.type, device.model, enabled.setting, enabled.rule
    from (${enabled}) enabled
      join onboarding_site seen on seen.org_id = enabled.org_id and seen.site_id = enabled.site_id
        and seen.setting = enabled.setting
      join device on device.org_id = enabled.org_id and device.site_id = enabled.site_id
        and device.type = case enabled.setting when 'switch' then 'switch' else 'gateway' end
      join device_status status on status.org_id = device.org_id and status.device_id = device.id and status.connected
    where not exists (select from onboarded_device old where old.org_id = device.org_id and old.device_id = device.id)
    order by device.id
    limit ${limit}`.execute(db)
  return rows
}

/** @returns False: another process has done it for some of them, or they were deleted. */
export async function insertOnboarded(tx: Tx, { orgId }: InOrg, deviceIds: ReadonlySet<string>): Promise<boolean> {
  const ids = [...deviceIds]
  const { rows } = await sql`
    insert into onboarded_device (org_id, device_id)
    select org_id, id from device where org_id = ${orgId} and id = ${anyOf(ids)}
    on conflict do nothing returning device_id`.execute(tx)
  return rows.length === ids.length
}
