import { type RawBuilder, sql } from 'kysely'
import type { SitesScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import { atPlace } from '../../events/store-places.ts'
import type { Condition } from '../../http/lists/filters.ts'
import { column, conditionOn } from '../../http/lists/store-filters.ts'
import type { Reader } from '../../platform/database/db.ts'
import { allOf } from '../store-lists.ts'

/** A code of events, and the join that looks up what it stands for. */
export interface Code {
  readonly name: RawBuilder<unknown>
  readonly join: RawBuilder<unknown>
}

export const kinds: Code = {
  name: sql`kind`,
  join: sql`left join device_event_kind kind on kind.code = event.kind`,
}
export const places: Code = {
  name: sql`place`,
  join: sql`left join event_place place on place.code = event.place`,
}

/** The codes by which events are searched. */
export interface SearchedCodes {
  /** The code of the organization. */
  readonly org: number
  /** Null: all of the organization. */
  readonly places: readonly number[] | null
  /** Null: all. */
  readonly kinds: readonly number[] | null
}

/** The site of a place that has one, in the form of the unique index of places: an organization may have thousands of them. */
const siteOfPlace = sql`coalesce(place.site_id, place.org_id)`

/** Finds the codes before a search, so that PostgreSQL plans it for them, and reads nothing but the index of events. */
export async function findSearchedCodes(
  reader: Reader,
  scope: SitesScope,
  { site_id: site, type }: { readonly site_id?: Condition | undefined; readonly type?: Condition | undefined },
): Promise<SearchedCodes> {
  const ofSites = [inSites(scope, siteOfPlace), ...(site ? [conditionOn(column(siteOfPlace), site)] : [])]
  const isWhole = scope.siteIds === 'all' && site === undefined
  const { rows } = await sql<SearchedCodes>`
    select own.code as org,
      ${isWhole ? sql`null` : sql`array(select place.code from event_place place where ${allOf([sql`place.org_id = own.org_id and place.site_id is not null`, ...ofSites])})`} as places,
      ${type === undefined ? sql`null` : sql`array(select kind.code::integer from device_event_kind kind where ${conditionOn(column(sql`kind.type`), type)})`} as kinds
    from event_place place cross join lateral (select place.org_id, place.code) own
    where ${atPlace(sql`${scope.orgId}::uuid`, sql`null::uuid`)}`.execute(reader)
  // No event has the code 0: the organization has been deleted.
  return rows[0] ?? { org: 0, places: null, kinds: null }
}

/** The conditions on the codes of `event`. */
export function inCodes(codes: SearchedCodes): RawBuilder<unknown>[] {
  return [
    sql`event.org = ${codes.org}`,
    ...(codes.places === null ? [] : [isAnyOf(sql`event.place`, codes.places)]),
    ...(codes.kinds === null ? [] : [isAnyOf(sql`event.kind`, codes.kinds)]),
  ]
}

/** An index yields the order of its later columns for a single value, but not for an array. */
function isAnyOf(of: RawBuilder<unknown>, [only, ...others]: readonly number[]): RawBuilder<unknown> {
  if (only === undefined) return sql`false`
  return others.length === 0 ? sql`${of} = ${only}` : sql`${of} = any(${[only, ...others]}::integer[])`
}
