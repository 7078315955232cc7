import { choice, id, mac, part, text } from '../../http/lists/filters.ts'
import { second } from '../../http/lists/time-filters.ts'

const common = {
  mac: mac(),
  model: text({ about: 'of the device at present' }),
  text: part({ list: false }),
  timestamp: second({ about: 'events of this second' }),
  type: text(),
}

/** Source: contract, `searchSiteDeviceEvents`. */
export const siteEventFilters = common

/** Source: contract, `searchOrgDeviceEvents`. */
export const orgEventFilters = {
  ...common,
  site_id: id(),
  device_type: choice(['ap', 'gateway', 'switch'], { all: 'all', default: 'ap' }),
}

/** The fields that every event has in its own row. */
const rowSorts = ['timestamp', 'id', 'mac', 'ap', 'type', 'device_type', 'org_id', 'site_id', 'text', 'count'] as const

/** Further fields, which events may have as members of the topic `device-events`. */
export const memberSorts = [
  'ap_name',
  'apfw',
  'audit_id',
  'device_name',
  'ev_type',
  'port_id',
  'reason',
  'site_name',
] as const

export const eventSorts = [...rowSorts, ...memberSorts] as const

/** Source: contract, `countSiteDeviceEvents`. */
export const siteCountFilters = { ...common, type_code: text({ about: 'not known of any event: matches none' }) }

/** Source: contract, `countOrgDeviceEvents`. */
export const orgCountFilters = {
  ...common,
  site_id: id(),
  ap: mac(),
  apfw: text({ about: 'the version that the access point ran at that time, where it is known' }),
}

export const siteEventCounts = ['mac', 'model', 'type', 'type_code'] as const
export const orgEventCounts = ['ap', 'apfw', 'mac', 'model', 'org_id', 'site_id', 'text', 'timestamp', 'type'] as const
