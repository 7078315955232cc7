import { part } from '../../http/filters.ts'

/** Source: contract, `listSelfAuditLogs`. */
export const selfLogFilters = { message: part({ list: false }) }

/** `admin_id` and `admin_name` are the same in each entry. */
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
