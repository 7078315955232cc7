import { type SitesScope, siteIdOf } from '../access/scope.ts'
import { type Conditions, type Filters, parseFilters } from './filters.ts'

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
