import { id, text } from '../../http/lists/filters.ts'

/** Source: contract, `countOrgSiteMxEdgeEvents`. */
export const countFilters = { mxedge_id: id(), mxcluster_id: id(), type: text(), service: text() }

/** Source: contract, `searchOrgMistEdgeEvents`. */
export const searchFilters = { ...countFilters, component: text() }

/** The members of the topic `mxedge-events`. */
export const eventSorts = [
  'timestamp',
  'type',
  'severity',
  'mxedge_id',
  'mxedge_name',
  'mxcluster_id',
  'org_id',
  'site_id',
  'mac',
  'service',
  'component',
  'package',
  'from_version',
  'to_version',
  'text',
  'audit_id',
  'device_type',
] as const

export const counts = ['mxcluster_id', 'mxedge_id', 'package', 'type'] as const
