import { sql } from 'kysely'
import type { AgingRows } from '../platform/database/retention.ts'

export const agingAccountLog: AgingRows = {
  table: 'account_log',
  owner: 'admin_id',
  isOld: (before) => sql`created_at < ${before}`,
}
