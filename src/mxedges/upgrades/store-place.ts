import { type RawBuilder, sql } from 'kysely'

/**
 * The site to which an upgrade belongs: the one where it was created, or else the only one where all its appliances are now. Null: it
 * belongs to the organization, as does one that takes in appliances of any site. The appliances are read by their keys, one after the
 * other: where there are others, the second one mostly shows it.
 */
export function siteOf(upgrade: 'mxedge_upgrade' | 'upgrade'): RawBuilder<string | null> {
  const placed = sql`(
    select mxedge_id from mxedge_upgrade_target
    where org_id = ${sql.ref(`${upgrade}.org_id`)} and upgrade_id = ${sql.ref(`${upgrade}.id`)} offset 0) target
    cross join lateral (
      select site_id from mxedge where org_id = ${sql.ref(`${upgrade}.org_id`)} and id = target.mxedge_id limit 1) place`
  return sql`coalesce(${sql.ref(`${upgrade}.site_id`)}, case when ${sql.ref(`${upgrade}.joining`)} is null then (
    select one.site_id from (select place.site_id from ${placed} limit 1) one
    where not exists (select from ${placed} where place.site_id is distinct from one.site_id)) end)`
}
