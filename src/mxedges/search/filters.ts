import { id, part, text } from '../../http/lists/filters.ts'

/** Source: contract, `countOrgMxEdges`. */
export const countFilters = {
  mxedge_id: id(),
  site_id: id(),
  mxcluster_id: id(),
  model: text(),
  distro: text({ about: 'the codename that the agent of the appliance reported' }),
  tunterm_version: text({ about: 'the version that the agent of the appliance reported' }),
}

/** Source: contract, `searchOrgMxEdges`. */
export const searchFilters = { ...countFilters, hostname: part({ about: 'the name' }) }

export const searchSorts = [
  'timestamp',
  'id',
  'name',
  'hostname',
  'model',
  'mac',
  'serial',
  'org_id',
  'site_id',
  'mxcluster_id',
  'created_time',
  'modified_time',
  'for_site',
  'status',
  'last_seen',
  'uptime',
  'distro',
  'mxagent_registered',
  'tunterm_registered',
  'fips_enabled',
  'virtualization_type',
  'num_tunnels',
  'idrac_version',
] as const

export const counts = ['distro', 'model', 'mxcluster_id', 'site_id', 'tunterm_version'] as const
