import { type CompiledQuery, sql } from 'kysely'
import { copyText } from './copy-text.ts'
import type { Tx } from './db.ts'
import { WITH_DATA } from './prepared.ts'
import { type Columns, encode, insertRows, memberOf, namesOf } from './rows.ts'
import { splitRows } from './split.ts'

/** Fewer rows are inserted: a prepared statement begins sooner. */
const MIN_COPIED = 16

/**
 * Inserts rows as insertRows() does, many of them by `copy`: PostgreSQL then logs all rows of a page in one record, and
 * saves 50 bytes for each. Columns can't be documents, which the connection seals.
 */
export async function copyRows<R extends object, E extends Partial<R> = {}>(
  tx: Tx,
  columns: Columns<R>,
  rows: readonly Omit<NoInfer<R>, keyof E>[],
  { every }: { readonly every?: E } = {},
): Promise<void> {
  if (rows.length < MIN_COPIED) {
    await insertRows(tx, columns, rows, every === undefined ? {} : { every })
    return
  }
  const known = copies.get(columns) ?? copyOf(tx, columns)
  copies.set(columns, known)
  const types = Object.entries(columns.types)
  const same: object = every ?? {}
  for (const part of splitRows(rows)) {
    const values = part.map((row) =>
      types.map(([name, type]) => encode(type, memberOf(name in same ? same : row, name))),
    )
    await tx.executeQuery({ ...known, parameters: [Buffer.from(copyText(values))] })
  }
}

/** The statements of copyRows, by the columns. */
const copies = new WeakMap<object, CompiledQuery>()

function copyOf(tx: Tx, columns: Columns<never>): CompiledQuery {
  if (Object.values(columns.types).includes('document')) throw new Error(`Documents of ${columns.table} are sealed`)
  return sql`copy ${sql.table(columns.table)} (${namesOf(columns)}) from stdin ${sql.raw(WITH_DATA)}`.compile(tx)
}
