import { type RawBuilder, sql } from 'kysely'

/** The columns of a device event that say its place; null: the organization itself. */
export function eventPlace(orgId: string, siteId: string | null): Record<'org' | 'place', RawBuilder<number>> {
  const codeOf = (site: string | null): RawBuilder<number> =>
    sql<number>`(select code from event_place where org_id = ${orgId}::uuid and site_id is not distinct from ${site}::uuid)`
  return { org: codeOf(null), place: codeOf(siteId) }
}
