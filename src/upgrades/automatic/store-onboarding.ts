import { sql } from 'kysely'
import type { InOrg, SiteScope } from '../../access/scope.ts'
import { modelPatterns } from '../../devices/registry/models.ts'
import { deriveSetting } from '../../orgs/org-settings/setting.ts'
import { findSetting } from '../../orgs/org-settings/store.ts'
import { findSiteSetting } from '../../orgs/site-settings/store.ts'
import { type Db, type Reader, type Tx, anyOf } from '../../platform/database/db.ts'
import { type NewDevices, type Onboarding, type OnboardingSetting, onboardingOf } from './onboarding.ts'

/** The devices that each setting concerns. */
const kinds = sql`(values ('juniper_srx', 'gateway', ${modelPatterns.srx}), ('ssr', 'gateway', ${modelPatterns.ssr}), ('switch', 'switch', ''))
  kind (setting, type, models)`

/** The sites with such a setting of their own or of their organization: one row for each setting. */
const enabled = sql`
  select place.org_id, place.site_id, kind.setting
  from (
      select org_id, site_id from site_setting where onboarding @? '$.* ? (@ == true)'
      union
      select site.org_id, site.id from org_setting join site on site.org_id = org_setting.org_id
      where org_setting.onboarding @? '$.* ? (@ == true)'
    ) place
    left join org_setting of_org on of_org.org_id = place.org_id
    left join site_setting own on own.org_id = place.org_id and own.site_id = place.site_id
    cross join ${kinds}
  where coalesce(own.onboarding -> kind.setting, of_org.onboarding -> kind.setting) = 'true'`

/**
 * The devices that are not known not to be new, of organizations and types with such a setting. They are mostly none: `offset 0` lets
 * PostgreSQL find them by indexes alone, before it reads the connections of a large fleet.
 */
const unknown = sql`
  select device.org_id, device.id, kind.setting, kind.models
  from (select distinct org_id, setting from enabled) used
    join ${kinds} on kind.setting = used.setting
    join device on device.org_id = used.org_id and device.type = kind.type
  where not exists (select from onboarded_device old where old.org_id = device.org_id and old.device_id = device.id)
  offset 0`

/** The connected ones among them, with their place. */
const present = sql`
  from (${unknown}) unknown
    join device on device.org_id = unknown.org_id and device.id = unknown.id and device.model ~* unknown.models
    join device_status status on status.org_id = device.org_id and status.device_id = device.id and status.connected`

/**
 * Records which sites have such a setting. Where it is new, devices of its kind in the organization that have connected before are not
 * new; those at sites that had it already may not have been looked at. Nor are those new that are connected at sites without it: they
 * may move to one with it years later. Devices that were claimed lately stay new there, where a person may prepare them.
 * @param since.site A site that was created later has no older devices, so there the setting is not new; and it may not have its settings yet.
 * @param since.claim A device that was claimed later stays new at a site without the setting.
 */
export async function updateOnboardingSites(
  db: Db,
  since: { readonly site: Date; readonly claim: Date },
): Promise<void> {
  await sql`
    with enabled as materialized (${enabled}),
      gone as (
        delete from onboarding_site old
        where not exists (select from enabled where enabled.org_id = old.org_id and enabled.site_id = old.site_id
          and enabled.setting = old.setting)),
      fresh as (
        insert into onboarding_site (org_id, site_id, setting) select org_id, site_id, setting from enabled
        on conflict do nothing returning org_id, site_id, setting)
    insert into onboarded_device (org_id, device_id)
    select device.org_id, device.id
    from (
        select distinct fresh.org_id, fresh.setting
        from fresh join site on site.org_id = fresh.org_id and site.id = fresh.site_id and site.created_at <= ${since.site}
      ) changed
      join ${kinds} on kind.setting = changed.setting
      join device on device.org_id = changed.org_id and device.type = kind.type and device.model ~* kind.models
      join device_status status on status.org_id = device.org_id and status.device_id = device.id
    where status.connected_at is not null
      and not exists (select from onboarding_site old where old.org_id = device.org_id and old.site_id = device.site_id
        and old.setting = kind.setting)
    union
    select device.org_id, device.id
    ${present}
      join site on site.org_id = device.org_id and site.id = device.site_id and site.created_at <= ${since.site}
    where device.created_at <= ${since.claim}
      and not exists (select from enabled where enabled.org_id = device.org_id and enabled.site_id = device.site_id
        and enabled.setting = unknown.setting)
    on conflict do nothing`.execute(db)
}

/** Lists devices that are connected and new at a site that has the setting for their kind. @param limit The number of devices. */
export async function listNewDevices(db: Db, limit: number): Promise<NewDevices[]> {
  const { rows } = await sql<NewDevices>`
    with enabled as materialized (${enabled})
    select org_id, site_id, setting, type, array_agg(id::text) as device_ids
    from (
        select device.org_id, device.site_id, device.id, device.type, unknown.setting
        ${present}
          join enabled on enabled.org_id = device.org_id and enabled.site_id = device.site_id and enabled.setting = unknown.setting
          join onboarding_site seen on seen.org_id = enabled.org_id and seen.site_id = enabled.site_id
            and seen.setting = enabled.setting
        order by device.id
        limit ${limit}
      ) found
    group by org_id, site_id, setting, type`.execute(db)
  return rows
}

/** The setting that applies in the site. @returns Null as of onboardingOf(). */
export async function findOnboarding(
  reader: Reader,
  scope: SiteScope,
  setting: OnboardingSetting,
): Promise<Onboarding | null> {
  const ofOrg = await findSetting(reader, scope)
  const ofSite = await findSiteSetting(reader, scope)
  return onboardingOf(deriveSetting(ofOrg?.doc ?? {}, ofSite?.doc ?? {})[setting])
}

/** @returns Those that were new and are at the site: another process may have done it, and devices may have left. */
export async function insertOnboarded(
  tx: Tx,
  { orgId, siteId }: InOrg & { readonly siteId: string },
  deviceIds: readonly string[],
): Promise<Set<string>> {
  const { rows } = await sql<{ readonly deviceId: string }>`
    insert into onboarded_device (org_id, device_id)
    select org_id, id from device where org_id = ${orgId} and site_id = ${siteId} and id = ${anyOf(deviceIds)} order by id
    on conflict do nothing returning device_id`.execute(tx)
  return new Set(rows.map(({ deviceId }) => deviceId))
}
