import { type SitesScope, siteIdOf } from '../../access/scope.ts'
import { type Conditions, type Filters, parseFilters } from './filters.ts'
import { type Page, parsePage } from './lists.ts'
import { type Sort, type TimeRange, parseSort, parseTimeRange } from './search.ts'

/** The filters of an operation that an organization and its sites have in common. */
export interface PlaceFilters<OrgFilters extends Filters, SiteFilters extends Filters> {
  readonly org: OrgFilters
  readonly site: SiteFilters
  /** Values of filters that a request to the organization leaves out. */
  readonly orgDefaults?: ValuesOf<OrgFilters>
}

type ValuesOf<F extends Filters> = { readonly [Name in keyof F]?: string }

/**
 * Parses the filters of the place that the operation received: the organization's, or the site's.
 *
 * @throws AppError invalid naming the field.
 */
export function parsePlaceFilters<OrgFilters extends Filters, SiteFilters extends Filters>(
  { org, site, orgDefaults }: PlaceFilters<OrgFilters, SiteFilters>,
  query: ValuesOf<OrgFilters> & ValuesOf<SiteFilters>,
  scope: SitesScope,
): Conditions<OrgFilters> | Conditions<SiteFilters> {
  return siteIdOf(scope) === null ? parseFilters(org, { ...orgDefaults, ...query }) : parseFilters(site, query)
}

interface RangeQuery {
  readonly start?: string
  readonly end?: string
  readonly duration?: string
  readonly limit?: number
}

type Found<O extends Filters, S extends Filters> = TimeRange & { readonly conditions: Conditions<O> | Conditions<S> }

/**
 * Parses a search of the events of an organization or a site. The default order is newest first.
 *
 * @throws AppError invalid naming the field.
 */
export function parseEventSearch<O extends Filters, S extends Filters, Field extends string>(
  filters: PlaceFilters<O, S>,
  query: ValuesOf<O> & ValuesOf<S> & RangeQuery & { readonly page?: number; readonly sort?: Field | `-${Field}` },
  { now, scope }: { readonly now: Date; readonly scope: SitesScope },
): Found<O, S> & Page & { readonly sort: Sort<Field | 'timestamp'> } {
  return {
    ...parseTimeRange(query, now),
    ...parsePage(query),
    conditions: parsePlaceFilters(filters, query, scope),
    sort: parseSort<Field | 'timestamp'>(query.sort ?? '-timestamp'),
  }
}

/**
 * Parses a count of the events of an organization or a site.
 *
 * @param usual The field that is counted unless the query names one.
 * @throws AppError invalid naming the field.
 */
export function parseEventCount<O extends Filters, S extends Filters, Field extends string>(
  filters: PlaceFilters<O, S>,
  query: ValuesOf<O> & ValuesOf<S> & RangeQuery & { readonly distinct?: Field },
  { now, scope, usual }: { readonly now: Date; readonly scope: SitesScope; readonly usual: Field },
): Found<O, S> & { readonly distinct: Field; readonly limit: number } {
  return {
    ...parseTimeRange(query, now),
    conditions: parsePlaceFilters(filters, query, scope),
    distinct: query.distinct ?? usual,
    limit: parsePage(query).limit,
  }
}
