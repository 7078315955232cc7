import { choice, flag, id, mac, part, spelled, text } from '../../http/lists/filters.ts'
import { time } from '../../http/lists/time-filters.ts'
import { typeFilter } from '../filters.ts'
import { plainSpelling } from '../registry/claim-code.ts'

const status = choice(['connected', 'disconnected'], { anyText: true })
const times = {
  modified_after: time('after', { about: 'changed after this time' }),
  disconnected_before: time('before', { about: 'not connected, and disconnected before this time' }),
}

/** Source: contract, `getOrgInventory`; `ssr` is ours. */
export const inventoryFilters = {
  serial: text(),
  model: text(),
  type: choice(['ap', 'gateway', 'switch']),
  mac: mac(),
  site_id: id(),
  ssr: flag({ about: 'whether it is an SSR router, which upgrades of SSR routers accept; ours' }),
  ...times,
}

/** A Virtual Chassis has the MAC of its master. */
export const chassisFilters = { vc_mac: mac({ about: 'the Virtual Chassis of this MAC' }) }
export const masterFilters = { ...chassisFilters, master_mac: mac({ about: 'as `vc_mac`' }) }

/** Source: contract, `searchOrgInventory`. */
export const searchFilters = {
  type: typeFilter('ap'),
  mac: mac(),
  model: text(),
  name: part(),
  serial: text(),
  site_id: id(),
  magic: spelled({
    about: 'the claim code; only for callers who may write to the whole organization',
    spell: plainSpelling,
  }),
  sku: text(),
  version: text(),
  status,
  ...times,
}

/** Source: contract, `countOrgInventory`. */
export const countFilters = {
  type: typeFilter('ap'),
  site_id: id(),
  model: text(),
  version: text(),
  status,
}

/** Filters that are on more than one column. */
export const otherFilters = {
  text: part({ about: 'of name, MAC, serial or model', list: false }),
  master: flag({ about: 'whether it is a Virtual Chassis', anyText: true }),
}

export const searchSorts = [
  'timestamp',
  'mac',
  'name',
  'model',
  'serial',
  'org_id',
  'site_id',
  'type',
  'status',
  'sku',
  'version',
  'master',
  'vc_mac',
] as const

export const counts = ['model', 'status', 'site_id', 'sku', 'version'] as const
