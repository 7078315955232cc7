import { type RawBuilder, sql } from 'kysely'
import type { Context } from '../context.ts'
import { type Db, type Tx, inTx } from './db.ts'

/** Rows of one table that are deleted when they are old. */
export interface AgingRows {
  readonly table: string
  /** The first column of the table's indexes. `org`: the code of an organization. */
  readonly owner: 'org_id' | 'admin_id' | 'org'
  /** A condition on the table: the row is older than `before`, and nothing in progress needs it. */
  readonly isOld: (before: Date) => RawBuilder<unknown>
}

export interface AgingKind {
  /** Rows are deleted in this order: those that refer to others first. */
  readonly rows: readonly AgingRows[]
  readonly before: Date
}

/** Rows of one owner that have just been deleted. */
export interface DeletedRows {
  readonly aging: AgingRows
  readonly owner: string
  readonly before: Date
}

export interface RetentionRun {
  readonly signal?: AbortSignal | undefined
  /** Called in the transaction of each batch. */
  readonly onDeleted?: (tx: Tx, deleted: DeletedRows) => Promise<void>
}

/** The rows of one transaction: few enough not to block others. */
const BATCH_ROWS = 2000
/** Rows of one run: after years without a limit, the next runs continue. */
const MAX_ROWS = 1_000_000

/**
 * Deletes old rows, one batch per transaction, until none is left, the bound of a run is reached or `signal` aborts.
 * Concurrent runs don't conflict.
 * @returns How many rows of each table were deleted.
 */
export async function deleteOldRows(
  ctx: Context,
  kinds: readonly AgingKind[],
  { signal, onDeleted }: RetentionRun = {},
): Promise<Readonly<Record<string, number>>> {
  const deleted: Record<string, number> = {}
  let left = MAX_ROWS
  const mayGoOn = (): boolean => left > 0 && signal?.aborted !== true
  for await (const { aging, owner, before } of listAging(ctx.db, kinds)) {
    for (let batch = BATCH_ROWS; batch === BATCH_ROWS && mayGoOn();) {
      batch = await inTx(ctx, async (tx) => {
        const rows = await deleteBatch(tx, aging, { owner, before })
        if (rows > 0) await onDeleted?.(tx, { aging, owner, before })
        return rows
      })
      deleted[aging.table] = (deleted[aging.table] ?? 0) + batch
      left -= batch
    }
  }
  return deleted
}

/** Lists the rows to delete: those of each owner in each table, and before which time. */
async function* listAging(db: Db, kinds: readonly AgingKind[]) {
  for (const { rows, before } of kinds)
    for (const aging of rows) for (const owner of await listOwners(db, aging)) yield { aging, owner, before }
}

/** Lists the owners that have rows: one index look-up for each, where `distinct` would read all rows. */
async function listOwners(db: Db, { table, owner }: AgingRows): Promise<string[]> {
  const [rows, column] = [sql.table(table), sql.ref(owner)]
  const { rows: found } = await sql<{ owner: string }>`
    with recursive owners as (
      (select ${column} as owner from ${rows} order by ${column} limit 1)
      union all
      select (select ${column} from ${rows} where ${column} > owners.owner order by ${column} limit 1)
      from owners where owners.owner is not null
    ) select owner::text from owners where owner is not null`.execute(db)
  return found.map((row) => row.owner)
}

async function deleteBatch(
  tx: Tx,
  { table, owner, isOld }: AgingRows,
  of: { readonly owner: string; readonly before: Date },
): Promise<number> {
  const rows = sql.table(table)
  const { numAffectedRows } = await sql`
    delete from ${rows} where ctid = any(array(
      select ctid from ${rows} where ${sql.ref(owner)} = ${of.owner} and ${isOld(of.before)}
      limit ${BATCH_ROWS} for update skip locked))`.execute(tx)
  return Number(numAffectedRows ?? 0)
}
