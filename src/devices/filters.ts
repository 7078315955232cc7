import { type Filter, choice, flag, id, mac, part } from '../http/lists/filters.ts'

/** The type of devices; `all` for every type. Source: contract, `device_type_with_all`. */
export function typeFilter(usual: 'all' | 'ap'): Filter {
  return choice(['ap', 'gateway', 'switch'], { all: 'all', default: usual })
}

/** Source: contract, `listSiteDevices`. */
export const siteDeviceFilters = { type: typeFilter('ap'), name: part() }

/** Source: contract, `listSiteDevicesStats`. */
export const siteStatsFilters = {
  type: typeFilter('ap'),
  status: choice(['connected', 'disconnected'], { all: 'all', default: 'all' }),
  mac: mac(),
}

/** Source: contract, `listOrgDevicesStats`. */
export const orgStatsFilters = {
  ...siteStatsFilters,
  site_id: id(),
  evpntopo_id: id({ about: 'no device is in a topology: matches none' }),
  evpn_unused: flag({ about: 'no device is known to be fit for a topology: `true` matches none', anyText: true }),
}
