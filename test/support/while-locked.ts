import { sql } from 'kysely'
import type { Context } from '../../src/platform/context.ts'
import { type Tx, inTx } from '../../src/platform/database/db.ts'

/** Rows of a table, by the value of one of its columns. */
export interface RowsToLock {
  readonly table: string
  readonly column: string
  readonly value: string
}

/** Does the work while another transaction has locked the rows, as a change of their organization does. */
export async function whileRowsAreLocked(
  ctx: Context,
  rows: RowsToLock,
  work: (tx: Tx) => Promise<void>,
): Promise<void> {
  await inTx(ctx, async (tx) => {
    await lockRows(tx, rows)
    await work(tx)
  })
}

/** Locks rows as a change of them does. */
export async function lockRows(tx: Tx, { table, column, value }: RowsToLock): Promise<void> {
  await sql`select from ${sql.table(table)} where ${sql.ref(column)} = ${value} for update`.execute(tx)
}
