import { part } from '../../http/filters.ts'

/** Source: contract, `listSelfAuditLogs`. */
export const selfLogFilters = { message: part({ list: false }) }
