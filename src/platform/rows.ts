import { type RawBuilder, type Selectable, sql } from 'kysely'
import { type Tx, json } from './db.ts'
import { documentText } from './sealing/document-column.ts'
import type { Schema } from './schema.ts'

/** Types of values, by the SQL type of their column. */
interface Values {
  uuid: string
  text: string
  /** pg returns it as text. */
  bigint: string
  boolean: boolean
  smallint: number
  integer: number
  real: number
  float8: number
  timestamptz: Date
  bytea: Buffer
  /** The value itself, not its text. */
  jsonb: unknown
  /** The document itself: jsonb in a column `doc`. */
  document: object
}

type SqlType = keyof Values

/** The SQL types that a column with values of type `V` may have. Columns of arrays are not supported. */
type SqlTypeOf<V> =
  NonNullable<V> extends string
    ? 'uuid' | 'text' | 'bigint'
    : NonNullable<V> extends boolean
      ? 'boolean'
      : NonNullable<V> extends number
        ? 'smallint' | 'integer' | 'real' | 'float8'
        : NonNullable<V> extends Date
          ? 'timestamptz'
          : NonNullable<V> extends Buffer
            ? 'bytea'
            : 'jsonb'

type TableName = keyof Schema

type Types<T extends TableName> = {
  readonly [K in keyof Selectable<Schema[T]>]?: K extends 'doc' ? 'document' : SqlTypeOf<Selectable<Schema[T]>[K]>
}

/** A document of any shape is any object, and one with a specific shape may be readonly. */
type Cell<V> = string extends keyof V ? object : V extends readonly (infer E)[] ? readonly E[] : V

type RowOf<T extends TableName, C, X> = {
  readonly [K in keyof C & keyof Selectable<Schema[T]>]: Cell<Selectable<Schema[T]>[K]>
} & { readonly [K in keyof X]: X[K] extends SqlType ? Values[X[K]] | null : never }

/** Columns of a table in which many rows are written, or by which many are found, in one statement. */
export interface Columns<Row> {
  readonly table: TableName
  readonly types: Readonly<Record<string, SqlType>>
  /** The members of `types` that are not columns of the table. */
  readonly more: readonly string[]
  /** Exists for the compiler only. */
  readonly row?: (row: Row) => void
}

/**
 * Declares columns of a table with their SQL types, once for all statements that need them.
 * @param more Further members of the rows, which are not columns of the table.
 */
export function columnsOf<T extends TableName, const C extends Types<T>, const X extends Record<string, SqlType> = {}>(
  table: T,
  columns: C & { readonly [K in Exclude<keyof C, keyof Selectable<Schema[T]>>]: never },
  more?: X,
): Columns<RowOf<T, C, X>> {
  return { table, types: { ...(columns as Readonly<Record<string, SqlType>>), ...more }, more: Object.keys(more ?? {}) }
}

/**
 * Rows as a table of a `from` clause: an array a column, so that the statement has the same text and the same number of
 * parameters for any number of rows. Members of the rows that are not declared are ignored.
 * @param place Names a further column: the number of the row, from 1.
 */
export function rowsAs<R extends object>(
  alias: string,
  { types }: Columns<R>,
  rows: readonly NoInfer<R>[],
  place?: string,
): RawBuilder<unknown> {
  const columns = Object.entries(types)
  const arrays = columns.map(([name, type]) => {
    const values = rows.map((row) => encode(type, (row as Readonly<Record<string, unknown>>)[name]))
    return sql`${values}::${castOf(type)}[]`
  })
  const names = [...columns.map(([name]) => name), ...(place === undefined ? [] : [place])].map((name) => sql.ref(name))
  const numbered = place === undefined ? sql`` : sql`with ordinality`
  return sql`unnest(${sql.join(arrays)}) ${numbered} as ${sql.ref(alias)} (${sql.join(names)})`
}

interface InsertOptions<E, Out> {
  /** The values that all rows share. */
  readonly every?: E
  /** The clauses after the rows: `order by`, `on conflict`, `returning`. */
  readonly tail?: RawBuilder<Out>
}

/** Inserts rows in one statement, however many. @returns What `tail` returns. */
export async function insertRows<R extends object, E extends Partial<R> = {}, Out = unknown>(
  tx: Tx,
  columns: Columns<R>,
  rows: readonly Omit<NoInfer<R>, keyof E>[],
  { every, tail = sql`` }: InsertOptions<E, Out> = {},
): Promise<Out[]> {
  if (rows.length === 0) return []
  const all = Object.entries(columns.types)
  const isSame = ([name]: [string, SqlType]): boolean => every !== undefined && name in every
  const own = { table: columns.table, more: [], types: Object.fromEntries(all.filter((column) => !isSame(column))) }
  const names = all.map(([name]) => sql.ref(name))
  const values = all.map((column) => {
    const [name, type] = column
    if (!isSame(column)) return sql.ref(name)
    return sql`${encode(type, (every as Readonly<Record<string, unknown>>)[name])}::${castOf(type)}`
  })
  const { rows: returned } = await sql<Out>`
    insert into ${sql.table(columns.table)} (${sql.join(names)})
    select ${sql.join(values)} from ${rowsAs('new', own, rows)} ${tail}
  `.execute(tx)
  return returned
}

interface UpdateOptions<R> {
  /** The columns that name the row. All the others are written. */
  readonly key: readonly (keyof R & string)[]
  /** Further assignments, where the rows are `new`. */
  readonly set?: RawBuilder<unknown>
  /** Further conditions. */
  readonly where?: RawBuilder<unknown>
}

/** Updates rows in one statement, however many. */
export async function updateRows<R extends object>(
  tx: Tx,
  columns: Columns<R>,
  rows: readonly NoInfer<R>[],
  { key, set, where }: UpdateOptions<NoInfer<R>>,
): Promise<void> {
  if (rows.length === 0) return
  const isKey = (name: string): boolean => key.some((part) => part === name)
  const names = Object.keys(columns.types).filter((name) => !columns.more.includes(name))
  const pairs = names.map((name) => ({ name, value: sql.ref(`new.${name}`) }))
  const assignments = [
    ...pairs.filter(({ name }) => !isKey(name)).map(({ name, value }) => sql`${sql.ref(name)} = ${value}`),
    ...(set === undefined ? [] : [set]),
  ]
  const conditions = [
    ...pairs
      .filter(({ name }) => isKey(name))
      .map(({ name, value }) => sql`${sql.ref(`${columns.table}.${name}`)} = ${value}`),
    ...(where === undefined ? [] : [where]),
  ]
  await sql`
    update ${sql.table(columns.table)} set ${sql.join(assignments)}
    from ${rowsAs('new', columns, rows)} where ${sql.join(conditions, sql` and `)}
  `.execute(tx)
}

function castOf(type: SqlType): RawBuilder<unknown> {
  return sql.raw(type === 'document' ? 'jsonb' : type)
}

function encode(type: SqlType, value: unknown): unknown {
  if (value === null || value === undefined) return null
  if (type === 'document' && typeof value === 'object') return documentText(value)
  return type === 'jsonb' ? json(value) : value
}
