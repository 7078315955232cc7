import { Type } from 'typebox'
import { type SitesScope, siteIdOf } from '../../access/scope.ts'
import { type Conditions, type Filters, filterQuery, parseFilters } from './filters.ts'
import { type Page, parsePage } from './lists.ts'
import {
  type Sort,
  type TimeRange,
  distinctParameter,
  pagedSearchQuery,
  parseSort,
  parseTimeRange,
  sortParameter,
} from './search.ts'

type Texts<F extends Filters> = { readonly [Name in keyof F]?: string }

interface Range {
  readonly start?: string
  readonly end?: string
  readonly duration?: string
  readonly limit?: number
  readonly page?: number
}

type SearchTexts<S extends string> = Range & { readonly sort?: S | `-${S}` }
type CountTexts<C extends string> = Range & { readonly distinct?: C }

interface Sorted<S extends string> {
  /** The fields that are answered; each can be sorted by. */
  readonly sorts: readonly S[]
  /** The sort of a query that names none. */
  readonly usual: S | `-${S}`
}

interface Counted<C extends string> {
  /** The fields whose values are counted. */
  readonly counts: readonly C[]
  /** The field that is counted if the query names none. */
  readonly usual: C
}

/** The filters of an operation that an organization and its sites have in common. */
interface PlaceFilters<Org extends Filters, Site extends Filters> {
  readonly org: Org
  readonly site: Site
  /** Values of filters that a query leaves out. */
  readonly defaults?: { readonly org?: Texts<Org>; readonly site?: Texts<Site> }
}

function sortedQuery<S extends string>({ sorts, usual }: Sorted<S>) {
  return { ...pagedSearchQuery, sort: sortParameter(sorts, usual) }
}

function parseSorted<S extends string>(
  query: SearchTexts<S>,
  now: Date,
  usual: S | `-${S}`,
): TimeRange & Page & { readonly sort: Sort<S> } {
  return { ...parseTimeRange(query, now), ...parsePage(query), sort: parseSort<S>(query.sort ?? usual) }
}

function countedQuery<C extends string>({ counts, usual }: Counted<C>) {
  return { ...pagedSearchQuery, distinct: distinctParameter(counts, usual) }
}

/** NoInfer, because otherwise the call around a declaration would decide the type of the field. */
function parseCounted<C extends string>(
  query: CountTexts<C>,
  now: Date,
  usual: C,
): TimeRange & Page & { readonly distinct: NoInfer<C> } {
  return { ...parseTimeRange(query, now), ...parsePage(query), distinct: query.distinct ?? usual }
}

/**
 * Parses the filters of the place that the operation received: the organization's, or the site's.
 *
 * @throws AppError invalid naming the field.
 */
function parsePlaceFilters<Org extends Filters, Site extends Filters>(
  { org, site, defaults }: PlaceFilters<Org, Site>,
  query: Texts<Org> & Texts<Site>,
  scope: SitesScope,
): Conditions<Org> | Conditions<Site> {
  return siteIdOf(scope) === null
    ? parseFilters(org, { ...defaults?.org, ...query })
    : parseFilters(site, { ...defaults?.site, ...query })
}

/**
 * Declares the query of a search over time, and how it is parsed. `searchOperation` takes both.
 *
 * The function `parse` throws AppError invalid naming the field.
 */
export function searchOf<F extends Filters, S extends string>({
  filters,
  ...sorted
}: Sorted<S> & { readonly filters: F }) {
  return {
    query: Type.Object({ ...sortedQuery(sorted), ...filterQuery(filters) }),
    parse: (query: SearchTexts<S> & Texts<F>, now: Date) => ({
      ...parseSorted(query, now, sorted.usual),
      conditions: parseFilters(filters, query),
    }),
  }
}

/** Declares the same of a search of an organization and of its sites. */
export function placeSearchOf<Org extends Filters, Site extends Filters, S extends string>(
  declared: PlaceFilters<Org, Site> & Sorted<S>,
) {
  const { org, site, usual } = declared
  const query = sortedQuery(declared)
  return {
    query: {
      org: Type.Object({ ...query, ...filterQuery(org) }),
      site: Type.Object({ ...query, ...filterQuery(site) }),
    },
    parse: (asked: SearchTexts<S> & Texts<Org> & Texts<Site>, now: Date, scope: SitesScope) => ({
      ...parseSorted(asked, now, usual),
      conditions: parsePlaceFilters(declared, asked, scope),
    }),
  }
}

/**
 * Declares the query of a count over time, and how it is parsed. `countOperation` takes both.
 *
 * The function `parse` throws AppError invalid naming the field.
 */
export function countOf<F extends Filters, C extends string>({
  filters,
  ...counted
}: Counted<C> & { readonly filters: F }) {
  return {
    query: Type.Object({ ...countedQuery(counted), ...filterQuery(filters) }),
    parse: (query: CountTexts<C> & Texts<F>, now: Date) => ({
      ...parseCounted<C>(query, now, counted.usual),
      conditions: parseFilters(filters, query),
    }),
  }
}

/** Declares the same of a count of an organization and of its sites. */
export function placeCountOf<
  Org extends Filters,
  Site extends Filters,
  OrgField extends string,
  SiteField extends string,
>(
  declared: PlaceFilters<Org, Site> & {
    readonly counts: { readonly org: readonly OrgField[]; readonly site: readonly SiteField[] }
    readonly usual: OrgField & SiteField
  },
) {
  const { org, site, counts, usual } = declared
  return {
    query: {
      org: Type.Object({ ...countedQuery({ counts: counts.org, usual }), ...filterQuery(org) }),
      site: Type.Object({ ...countedQuery({ counts: counts.site, usual }), ...filterQuery(site) }),
    },
    parse: (query: CountTexts<OrgField | SiteField> & Texts<Org> & Texts<Site>, now: Date, scope: SitesScope) => ({
      ...parseCounted<OrgField | SiteField>(query, now, usual),
      conditions: parsePlaceFilters(declared, query, scope),
    }),
  }
}
