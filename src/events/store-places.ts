import { type RawBuilder, sql } from 'kysely'
import type { InOrg } from '../access/scope.ts'
import type { Reader } from '../platform/database/db.ts'

/**
 * The condition that a row `place` of `event_place` is of the site, or of the organization if the site is null. The unique
 * index of migration 330 has its expression.
 */
export function atPlace(orgId: RawBuilder<unknown>, siteId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`place.org_id = ${orgId} and coalesce(place.site_id, place.org_id) = coalesce(${siteId}, ${orgId})`
}

/** The code of the organization in its events. */
export function orgCodeOf({ orgId }: Pick<InOrg, 'orgId'>): RawBuilder<number> {
  return sql<number>`(select place.code from event_place place where ${atPlace(sql`${orgId}::uuid`, sql`null::uuid`)})`
}

/** Finds the organization by its code; undefined if it has been deleted. */
export async function findOrgOfCode(reader: Reader, code: number): Promise<string | undefined> {
  const row = await reader.selectFrom('eventPlace').select('orgId').where('code', '=', code).executeTakeFirst()
  return row?.orgId
}
