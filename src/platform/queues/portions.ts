import { type Expression, sql } from 'kysely'
import type { Tx } from '../database/db.ts'

/** Converting the rows of one portion holds the event loop for some milliseconds. */
const ROWS_PER_PORTION = 2000

/**
 * Reads the rows of a query in portions, all from one snapshot, so that a result of any size neither fills the memory nor
 * holds the event loop. A transaction has at most one such read at a time.
 */
export async function* readInPortions<R>(tx: Tx, query: Expression<R>): AsyncGenerator<readonly R[]> {
  await sql`declare portions no scroll cursor for ${query}`.execute(tx)
  let hasFailed = false
  try {
    for (;;) {
      hasFailed = true
      const { rows } = await sql<R>`fetch ${sql.lit(ROWS_PER_PORTION)} from portions`.execute(tx)
      hasFailed = false
      if (rows.length > 0) yield rows
      if (rows.length < ROWS_PER_PORTION) break
    }
  } finally {
    // Also if the reader stops early. A failure has ended the transaction, and the cursor with it.
    if (!hasFailed) await sql`close portions`.execute(tx)
  }
}
