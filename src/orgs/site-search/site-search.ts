import { flag, id, part, text } from '../../http/lists/filters.ts'
import { keysOf, recordOf } from '../../platform/records.ts'

/** A site as searches answer it: fields of its record, and which settings are on. */
export interface FoundSite {
  readonly id: string
  readonly orgId: string
  readonly name: string
  readonly timezone: string
  readonly countryCode: string | null
  readonly modifiedAt: Date
  readonly autoUpgradeVersion: string
  readonly autoUpgradeEnabled: boolean
  readonly honeypotEnabled: boolean
  readonly vnaEnabled: boolean
  readonly wifiEnabled: boolean
}

/** The place of a feature's flag in a site's settings, and its default. */
export const flagSettings = {
  analytic_enabled: { path: ['analytic', 'enabled'], otherwise: false },
  app_waking: { path: ['rtsa', 'app_waking'], otherwise: false },
  asset_enabled: { path: ['rtsa', 'track_asset'], otherwise: false },
  auto_upgrade_enabled: { path: ['auto_upgrade', 'enabled'], otherwise: false },
  honeypot_enabled: { path: ['rogue', 'honeypot_enabled'], otherwise: false },
  locate_unconnected: { path: ['wifi', 'locate_unconnected'], otherwise: false },
  mesh_enabled: { path: ['wifi', 'mesh_enabled'], otherwise: false },
  remote_syslog_enabled: { path: ['remote_syslog', 'enabled'], otherwise: false },
  rogue_enabled: { path: ['rogue', 'enabled'], otherwise: false },
  rtsa_enabled: { path: ['rtsa', 'enabled'], otherwise: false },
  vna_enabled: { path: ['vna', 'enabled'], otherwise: false },
  wifi_enabled: { path: ['wifi', 'enabled'], otherwise: true },
} as const

export type SiteFlag = keyof typeof flagSettings
export const siteFlags: readonly SiteFlag[] = keysOf(flagSettings)

const flagFilters = recordOf(siteFlags, () => flag({ about: 'the value in the settings' }))

/** Source: contract, `searchOrgSites`. */
export const siteFilters = {
  id: id(),
  name: part(),
  country_code: text(),
  auto_upgrade_version: text(),
  ...flagFilters,
}

export const siteSorts = [
  'timestamp',
  'name',
  'id',
  'site_id',
  'org_id',
  'country_code',
  'timezone',
  'auto_upgrade_enabled',
  'auto_upgrade_version',
  'honeypot_enabled',
  'vna_enabled',
  'wifi_enabled',
] as const
export type SiteSort = (typeof siteSorts)[number]

export const siteCounts = [...siteFlags, 'auto_upgrade_version', 'country_code', 'id', 'name'] as const
export type SiteCount = (typeof siteCounts)[number]
