import { type Static, Type } from 'typebox'
import { type Page, pageQuery, parsePage } from '../../http/lists.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { type TimeRange, parseSort, parseTimeRange, searchQuery } from '../../http/search.ts'
import { epochS } from '../../platform/clock.ts'
import { type FoundSite, type SiteOrder, type SiteSearch, siteCounts, siteFlags, siteSorts } from './site-search.ts'

const Flag = Type.Optional(Type.Boolean({ description: 'what the settings say' }))
const range = {
  ...searchQuery,
  start: Type.Optional(Type.String({ description: 'answered; sites are what they are now' })),
}

export const SitesSearchQuery = Type.Object({
  ...range,
  ...pageQuery,
  id: Type.Optional(Uuid),
  name: Type.Optional(Type.String({ description: 'part of it' })),
  country_code: Type.Optional(Type.String()),
  auto_upgrade_version: Type.Optional(Type.String()),
  analytic_enabled: Flag,
  app_waking: Flag,
  asset_enabled: Flag,
  auto_upgrade_enabled: Flag,
  honeypot_enabled: Flag,
  locate_unconnected: Flag,
  mesh_enabled: Flag,
  remote_syslog_enabled: Flag,
  rogue_enabled: Flag,
  rtsa_enabled: Flag,
  vna_enabled: Flag,
  wifi_enabled: Flag,
  sort: Type.Optional(
    Type.Enum(
      siteSorts.flatMap((by) => [by, `-${by}`]),
      { default: 'timestamp' },
    ),
  ),
})

export const SitesCountQuery = Type.Object({
  ...range,
  limit: pageQuery.limit,
  distinct: Type.Optional(Type.Enum([...siteCounts], { default: 'id' })),
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

/** The range is echoed in the reply; it does not filter. */
interface ParsedSearch extends Page, TimeRange {
  readonly search: SiteSearch
  readonly order: SiteOrder
}

export function parseSitesSearch(query: Static<typeof SitesSearchQuery>, now: Date): ParsedSearch {
  const { by, direction } = parseSort(query.sort ?? 'timestamp')
  const flags = siteFlags.flatMap((flag) => {
    const on = query[flag]
    return on === undefined ? [] : [[flag, on] as const]
  })
  return {
    ...parsePage(query),
    ...parseTimeRange(query, now),
    search: {
      id: query.id ?? null,
      name: query.name ?? null,
      countryCode: query.country_code ?? null,
      autoUpgradeVersion: query.auto_upgrade_version ?? null,
      flags: Object.fromEntries(flags),
    },
    order: { by: siteSorts.find((sort) => sort === by) ?? 'timestamp', direction },
  }
}

export function parseSitesCount(query: Static<typeof SitesCountQuery>, now: Date) {
  return { ...parseTimeRange(query, now), distinct: query.distinct ?? 'id', limit: parsePage(query).limit }
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
