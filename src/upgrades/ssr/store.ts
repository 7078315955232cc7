import { type RawBuilder, sql } from 'kysely'
import type { OrgScope, PlaceScope, SitesScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import type { DeviceType } from '../../events/device-type.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { sizesOf } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import { type Reader, anyOf } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'
import { partStatusOf } from '../../rollout/store-part-status.ts'
import { getOrgUpgradeId } from '../site/store.ts'
import { listSiteUpgrades, upgradeName } from '../store.ts'
import { DEFAULT_CHANNEL, type SsrSite, type SsrUpgrade, type SsrUpgradeItem } from './ssr-upgrade.ts'

/** The site upgrades of `org_upgrade` that the scope shows. */
function shown(scope: SitesScope): RawBuilder<unknown> {
  return sql`select * from site_upgrade part where part.org_id = org_upgrade.org_id
    and part.org_upgrade_id = org_upgrade.id and ${inSites(scope, sql.ref('part.site_id'))}`
}

function selectUpgrades(reader: Reader, scope: SitesScope) {
  const sites: RawBuilder<SsrSite[]> = sql`(
    select coalesce(json_agg(json_build_object('status', ${partStatusOf('part')}, 'counts', part.counts,
      'only', part.plan->>'only') order by part.id), '[]')
    from (${shown(scope)}) part)`
  const versions: RawBuilder<SsrUpgradeItem['versions']> = sql`(
    select coalesce(json_object_agg(model, target_version order by model), '{}') from (
      select distinct on (target.model) target.model,
        coalesce(target.path->-1->>'version', target.target_version) as target_version
      from (${shown(scope)}) part
      join upgrade_target target on target.org_id = part.org_id and target.upgrade_id = part.id
      order by target.model) by_model)`
  const hold: RawBuilder<SsrUpgradeItem['hold']> = sql`(
    select part.hold from (${shown(scope)}) part
    where part.finished_at is null and part.hold is not null order by part.id limit 1)`
  return reader
    .selectFrom('orgUpgrade')
    .select(['id', upgradeName.as('name'), 'strategy'])
    .select(sql<SsrUpgradeItem['channel']>`coalesce(org_upgrade.request->>'channel', ${DEFAULT_CHANNEL})`.as('channel'))
    .select([sites.as('sites'), versions.as('versions'), hold.as('hold')])
    .where('orgId', '=', scope.orgId)
    .where('kind', '=', 'ssr')
}

/** Newest first. */
export function listSsrUpgrades(reader: Reader, scope: OrgScope, page: Page): Promise<Paged<SsrUpgradeItem>> {
  const hits = selectUpgrades(reader, scope)
  const sizes = sizesOf(sql`octet_length(hit.versions::text) + coalesce(octet_length(hit.hold::text), 0)`)
  return pageOf<SsrUpgradeItem>(reader, { hits, direction: 'desc', sizes }, page)
}

/** For a site, only its own part. @throws AppError not_found */
export async function getSsrUpgrade(reader: Reader, scope: PlaceScope, named: string): Promise<SsrUpgrade> {
  const id = await getOrgUpgradeId(reader, scope, { id: named, kind: 'ssr' })
  const upgrade = await selectUpgrades(reader, scope)
    .select(['notes', 'approvals'])
    .where('id', '=', id)
    .executeTakeFirst()
  if (upgrade === undefined) throw notFound(id)
  return { ...upgrade, siteUpgrades: await listSiteUpgrades(reader, scope, id) }
}

/** A device that a request names. */
export interface NamedDevice {
  readonly id: string
  readonly mac: string
  readonly model: string
  readonly type: DeviceType
  readonly siteId: string | null
}

/** Lists those of the devices that the scope covers; in an organization also devices without a site. */
export function listNamedDevices(
  reader: Reader,
  scope: SitesScope,
  deviceIds: readonly string[],
): Promise<NamedDevice[]> {
  return reader
    .selectFrom('device')
    .select(['id', 'mac', 'model', 'type', 'siteId'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', anyOf(deviceIds))
    .where(inSites(scope, sql.ref('device.site_id')))
    .execute()
}

/** Lists the gateways at those of the sites that the scope covers. */
export function listGateways(
  reader: Reader,
  scope: SitesScope,
  siteIds: readonly string[],
): Promise<Pick<NamedDevice, 'id' | 'model'>[]> {
  return reader
    .selectFrom('device')
    .select(['id', 'model'])
    .where('orgId', '=', scope.orgId)
    .where('siteId', '=', anyOf(siteIds))
    .where('type', '=', 'gateway')
    .where(inSites(scope, sql.ref('device.site_id')))
    .execute()
}

/** Returns the model of a device of the organization. */
export async function findModel(reader: Reader, scope: OrgScope, mac: string): Promise<string | undefined> {
  const row = await reader
    .selectFrom('device')
    .select('model')
    .where('orgId', '=', scope.orgId)
    .where('mac', '=', mac)
    .executeTakeFirst()
  return row?.model
}
