import { type CompiledQuery, sql } from 'kysely'
import { copyBytes } from './encoding/copy-bytes.ts'
import type { Tx } from './db.ts'
import type { BinaryType } from './encoding/element-types.ts'
import { WITH_DATA } from './connections/prepared.ts'
import { type Columns, type SqlType, encode, insertRows, memberOf, namesOf } from './rows.ts'
import { splitRows } from './split.ts'

/** Fewer rows are inserted: a prepared statement begins sooner. */
const MIN_COPIED = 16

/**
 * Inserts rows as insertRows() does, many of them by `copy`: PostgreSQL then logs all rows of a page in one record, and
 * saves 50 bytes for each. The declared types must be those of the columns, and none may be a document, which the
 * connection seals. A value that `copy` can't have is inserted, so that PostgreSQL refuses it as usual.
 */
export async function copyRows<R extends object, E extends Partial<R> = {}>(
  tx: Tx,
  columns: Columns<R>,
  rows: readonly Omit<NoInfer<R>, keyof E>[],
  { every }: { readonly every?: E } = {},
): Promise<void> {
  const insert = (some: typeof rows): Promise<unknown> =>
    insertRows(tx, columns, some, every === undefined ? {} : { every })
  if (rows.length < MIN_COPIED) {
    await insert(rows)
    return
  }
  const known = copies.get(columns) ?? copyOf(tx, columns)
  copies.set(columns, known)
  for (const part of splitRows(rows)) {
    const data = copyBytes(known.types, valuesOf(columns, part, every ?? {}))
    await (data === null ? insert(part) : tx.executeQuery({ ...known.query, parameters: [data] }))
  }
}

interface Copy {
  readonly query: CompiledQuery
  /** The types of the columns, in the order of the statement. */
  readonly types: readonly BinaryType[]
}

/** The statements of copyRows, by the columns. */
const copies = new WeakMap<object, Copy>()

function copyOf(tx: Tx, columns: Columns<never>): Copy {
  const types = Object.values(columns.types)
  if (!types.every(isBinary)) throw new Error(`Documents of ${columns.table} are sealed`)
  const query = sql`copy ${sql.table(columns.table)} (${namesOf(columns)}) from stdin (format binary) ${sql.raw(WITH_DATA)}`
  return { query: query.compile(tx), types }
}

function isBinary(type: SqlType): type is BinaryType {
  return type !== 'document'
}

/** Returns the values of all rows, one row after the other. */
function valuesOf({ types }: Columns<never>, rows: readonly object[], every: object): unknown[] {
  const columns = Object.entries(types).map(([name, type]) => ({ name, type, isSame: name in every }))
  const values: unknown[] = []
  for (const row of rows)
    for (const { name, type, isSame } of columns) values.push(encode(type, memberOf(isSame ? every : row, name)))
  return values
}
