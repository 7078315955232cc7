import { type RawBuilder, sql } from 'kysely'

/**
 * The site to which an upgrade belongs: the one where it was created, or else the only one where all its appliances are now. Null: it
 * belongs to the organization, as does one that takes in appliances of any site. Two appliances mostly decide that there are others.
 */
export function siteOf(upgrade: 'mxedge_upgrade' | 'upgrade'): RawBuilder<string | null> {
  const placed = sql`mxedge_upgrade_target target
    join mxedge on mxedge.org_id = target.org_id and mxedge.id = target.mxedge_id
    where target.org_id = ${sql.ref(`${upgrade}.org_id`)} and target.upgrade_id = ${sql.ref(`${upgrade}.id`)}`
  return sql`coalesce(${sql.ref(`${upgrade}.site_id`)}, case when ${sql.ref(`${upgrade}.joining`)} is null then (
    select one.site_id from (select mxedge.site_id from ${placed} limit 1) one
    where not exists (select from ${placed} and mxedge.site_id is distinct from one.site_id)) end)`
}
