import { part } from '../../http/lists/filters.ts'

/** Source: contract, `listSelfAuditLogs`. */
export const selfLogFilters = { message: part({ list: false }) }
