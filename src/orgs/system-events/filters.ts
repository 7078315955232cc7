import { choice, text } from '../../http/lists/filters.ts'

/** Source: contract, `searchOrgEvents` and `searchSiteSystemEvents`. */
export const eventFilters = { type: text() }

/** Beyond the contract, which declares none for the events of the service in an organization. */
export const systemFilters = { ...eventFilters, scope: choice(['org', 'site']) }

export const eventSorts = ['timestamp', 'id', 'org_id', 'type', 'text', 'severity'] as const
export const systemSorts = [
  ...eventSorts,
  'scope',
  'site_id',
  'change_cat',
  'metadata',
  'mac',
  'ap',
  'apfw',
  'device_type',
  'count',
] as const

export const orgCounts = [
  'type',
  'scope',
  'site_id',
  'change_cat',
  'severity',
  'mac',
  'ap',
  'apfw',
  'device_type',
  'text',
  'org_id',
] as const
export const siteCounts = ['type'] as const
