import { uuidv7 } from 'uuidv7'
import { reduceChange } from '../events/reduce-change.ts'
import { type Reader, type Tx, json } from '../platform/db.ts'

export interface NewAccountLog {
  readonly adminId: string
  readonly message: string
  readonly srcIp: string | null
  readonly userAgent: string | null
  readonly before?: Record<string, unknown>
  readonly after?: Record<string, unknown>
  readonly at: Date
}

export async function insertAccountLogs(tx: Tx, entries: readonly NewAccountLog[]): Promise<void> {
  if (entries.length === 0) return
  const rows = entries.map((entry) => {
    const { at, ...row } = entry
    const { before, after } = reduceChange(entry)
    return {
      ...row,
      id: uuidv7(),
      before: before ? json(before) : null,
      after: after ? json(after) : null,
      createdAt: at,
    }
  })
  await tx.insertInto('accountLog').values(rows).execute()
}

/** Organizations in which the admin has a privilege. */
export async function listOrgIdsOfAdmin(reader: Reader, adminId: string): Promise<string[]> {
  const rows = await reader.selectFrom('privilege').select('orgId').distinct().where('adminId', '=', adminId).execute()
  return rows.map(({ orgId }) => orgId)
}
