import { id, part } from '../../http/lists/filters.ts'

/** Source: contract, `listOrgAuditLogs`. */
export const logFilters = {
  site_id: id(),
  admin_id: id(),
  admin_name: part({ about: 'the name or the address' }),
  message: part(),
}

/** The fields of audit records, for organizations and accounts. */
export const selfLogSorts = [
  'timestamp',
  'id',
  'admin_id',
  'admin_name',
  'org_id',
  'site_id',
  'for_site',
  'message',
  'src_ip',
  'user_agent',
] as const

export const logSorts = [...selfLogSorts, 'site_name', 'device_id'] as const

export const logCounts = ['admin_id', 'admin_name', 'message', 'site_id'] as const
