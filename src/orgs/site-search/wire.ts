import { type Static, Type } from 'typebox'
import { filterQuery, parseFilters } from '../../http/lists/filters.ts'
import { type Page, pageQuery, parsePage } from '../../http/lists/lists.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import {
  type TimeRange,
  distinctParameter,
  parseSort,
  parseTimeRange,
  searchQuery,
  sortParameter,
} from '../../http/lists/search.ts'
import { textOf } from '../../http/texts.ts'
import { epochS } from '../../platform/time/clock.ts'
import { type FoundSite, siteCounts, siteFilters, siteSorts } from './site-search.ts'
import type { SiteSearch } from './store.ts'

const range = {
  ...searchQuery,
  start: Type.Optional(textOf('instant', { description: 'echoed; the search covers the present state of sites' })),
}

export const SitesSearchQuery = Type.Object({
  ...range,
  ...pageQuery,
  ...filterQuery(siteFilters),
  sort: sortParameter(siteSorts, 'timestamp'),
})

export const SitesCountQuery = Type.Object({
  ...range,
  ...pageQuery,
  distinct: distinctParameter(siteCounts, 'id'),
})

export const FoundSiteReply = named(
  'SiteHit',
  Type.Object({
    id: Uuid,
    site_id: Uuid,
    org_id: Uuid,
    name: Type.String(),
    timezone: Type.String(),
    country_code: Type.Optional(Type.String()),
    timestamp: Timestamp,
    auto_upgrade_enabled: Type.Boolean(),
    auto_upgrade_version: Type.String(),
    honeypot_enabled: Type.Boolean(),
    vna_enabled: Type.Boolean(),
    wifi_enabled: Type.Boolean(),
  }),
)

/** The range is echoed in the reply; it does not filter. @throws AppError invalid naming the field. */
export function parseSitesSearch(query: Static<typeof SitesSearchQuery>, now: Date): SiteSearch & Page & TimeRange {
  return {
    ...parsePage(query),
    ...parseTimeRange(query, now),
    conditions: parseFilters(siteFilters, query),
    sort: parseSort(query.sort ?? 'timestamp'),
  }
}

export function parseSitesCount(query: Static<typeof SitesCountQuery>, now: Date) {
  return { ...parseTimeRange(query, now), distinct: query.distinct ?? 'id', ...parsePage(query) }
}

export function presentFoundSite(site: FoundSite): Static<typeof FoundSiteReply> {
  return {
    id: site.id,
    site_id: site.id,
    org_id: site.orgId,
    name: site.name,
    timezone: site.timezone,
    ...(site.countryCode !== null && { country_code: site.countryCode }),
    timestamp: epochS(site.modifiedAt),
    auto_upgrade_enabled: site.autoUpgradeEnabled,
    auto_upgrade_version: site.autoUpgradeVersion,
    honeypot_enabled: site.honeypotEnabled,
    vna_enabled: site.vnaEnabled,
    wifi_enabled: site.wifiEnabled,
  }
}
