import { uuidv7 } from '../platform/uuidv7.ts'
import { reduceChange } from '../events/reduce-change.ts'
import { changeColumns } from '../events/store-audits.ts'
import type { Reader, Tx } from '../platform/database/db.ts'
import { columnsOf, insertRows } from '../platform/database/rows.ts'

export interface NewAccountLog {
  readonly adminId: string
  readonly message: string
  readonly srcIp: string | null
  readonly userAgent: string | null
  readonly before?: Record<string, unknown>
  readonly after?: Record<string, unknown>
  readonly at: Date
}

const logColumns = columnsOf('accountLog', changeColumns)

/**
 * Inserts records of events of accounts.
 *
 * @unscoped The owner does not cause all of them: logins fail, tokens expire, administrators change privileges.
 */
export async function insertAccountLogs(tx: Tx, entries: readonly NewAccountLog[]): Promise<void> {
  const rows = entries.map((entry) => {
    const { before = null, after = null } = reduceChange(entry)
    return { ...entry, id: uuidv7(), before, after, createdAt: entry.at }
  })
  await insertRows(tx, logColumns, rows)
}

/**
 * Lists the organizations in which the admin has a privilege.
 *
 * @unscoped Finds the audit logs that also get the records of an account, whoever causes them.
 */
export async function listOrgIdsOfAdmin(reader: Reader, adminId: string): Promise<string[]> {
  const rows = await reader.selectFrom('privilege').select('orgId').distinct().where('adminId', '=', adminId).execute()
  return rows.map(({ orgId }) => orgId)
}
