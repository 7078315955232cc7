import { type RawBuilder, type Selectable, sql } from 'kysely'
import { arrayBytes } from './encoding/array-bytes.ts'
import { type Tx, json } from './db.ts'
import { documentText } from '../sealing/document-column.ts'
import type { Schema } from './schema.ts'
import { splitRows } from './split.ts'
import { Param, type ParamOf, statement } from './statement.ts'

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

export type SqlType = keyof Values

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

type RowWith<T extends TableName, C, X> = {
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

/** The rows of columns. */
export type RowOf<C> = C extends { readonly row?: (row: infer Row) => void } ? Row : never

/** Names the columns, in the order in which \`rowsAs\` has them. */
export function namesOf({ types }: Columns<never>): RawBuilder<unknown> {
  return sql.join(Object.keys(types).map((name) => sql.ref(name)))
}

/**
 * Declares columns of a table with their SQL types, once for all statements that need them.
 * @param more Further members of the rows, which are not columns of the table.
 */
export function columnsOf<T extends TableName, const C extends Types<T>, const X extends Record<string, SqlType> = {}>(
  table: T,
  columns: C & { readonly [K in Exclude<keyof C, keyof Selectable<Schema[T]>>]: never },
  more?: X,
): Columns<RowWith<T, C, X>> {
  return { table, types: { ...(columns as Readonly<Record<string, SqlType>>), ...more }, more: Object.keys(more ?? {}) }
}

/**
 * Rows as a table of a `from` clause: an array a column, so that the statement has the same text and the same number of
 * parameters for any number of rows. Members of the rows that are not declared are ignored.
 * @param place Names a further column: the number of the row, from 1.
 */
export function rowsAs<R extends object, V = unknown>(
  alias: string,
  columns: Columns<R>,
  rows: readonly NoInfer<R>[] | Param<V, readonly NoInfer<R>[]>,
  place?: string,
): RawBuilder<unknown> {
  return tableOf(alias, { columns, rows, place, arrayOf: (values) => values })
}

/**
 * Does the same as rowsAs() for a statement that is executed often and has the same best plan for any number of rows. PostgreSQL sees the
 * number of rows in the values of rowsAs(), and plans the statement anew each time, which may cost more than its execution.
 */
export function anyRowsAs<R extends object, V = unknown>(
  alias: string,
  columns: Columns<R>,
  rows: Param<V, readonly NoInfer<R>[]>,
): RawBuilder<unknown> {
  return tableOf(alias, { columns, rows, place: undefined, arrayOf: (values) => sql`(select ${values})` })
}

/** The values of one row, in the order in which `namesOf` has the columns. */
export function valuesOf<R extends object, V>(columns: Columns<R>, row: Param<V, NoInfer<R>>): RawBuilder<unknown> {
  const values = Object.entries(columns.types).map(
    ([name, type]) => sql`${row.map((of) => encode(type, memberOf(of, name)))}::${castOf(type)}`,
  )
  return sql.join(values)
}

interface TableParts<R, V> {
  readonly columns: Columns<R>
  readonly rows: readonly R[] | Param<V, readonly R[]>
  readonly place: string | undefined
  readonly arrayOf: (values: RawBuilder<unknown>) => RawBuilder<unknown>
}

function tableOf<R extends object, V>(
  alias: string,
  { columns: { types }, rows, place, arrayOf }: TableParts<R, V>,
): RawBuilder<unknown> {
  const columns = Object.entries(types)
  const arrays = columns.map(([name, type]) => {
    const valueOf = (row: R): unknown => encode(type, memberOf(row, name))
    // The connection seals documents before it encodes them.
    const valuesOf = (of: readonly R[]): unknown =>
      (type === 'document' ? null : arrayBytes(type, of, valueOf)) ?? of.map(valueOf)
    return arrayOf(sql`${rows instanceof Param ? rows.map(valuesOf) : valuesOf(rows)}::${castOf(type)}[]`)
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

/** Inserts rows, a thousand per statement. @returns What `tail` returns. */
export async function insertRows<R extends object, E extends Partial<R> = {}, Out = unknown>(
  tx: Tx,
  columns: Columns<R>,
  rows: readonly Omit<NoInfer<R>, keyof E>[],
  { every, tail = noTail }: InsertOptions<E, Out> = {},
): Promise<Out[]> {
  if (rows.length === 0) return []
  const same: object = every ?? {}
  const known = inserts.get(columns) ?? new Map<string, WeakMap<object, Insert>>()
  inserts.set(columns, known)
  const name = Object.keys(same).join()
  const byTail = known.get(name) ?? new WeakMap<object, Insert>()
  known.set(name, byTail)
  const insert = byTail.get(tail) ?? insertOf(columns, same, tail)
  byTail.set(tail, insert)
  const returned: unknown[][] = []
  for (const part of splitRows(rows)) returned.push(await insert(tx, { rows: part, every: same }))
  return returned.flat() as Out[]
}

type Insert = (tx: Tx, values: InsertValues) => Promise<unknown[]>

interface InsertValues {
  readonly rows: readonly object[]
  readonly every: object
}

const noTail = sql<never>``

/** The statements of insertRows, by the columns, by what is the same in every row, and by what follows the rows. */
const inserts = new WeakMap<object, Map<string, WeakMap<object, Insert>>>()

function insertOf(columns: Columns<never>, every: object, tail: RawBuilder<unknown>): Insert {
  const all = Object.entries(columns.types)
  const isSame = ([name]: [string, SqlType]): boolean => name in every
  const own = { table: columns.table, more: [], types: Object.fromEntries(all.filter((column) => !isSame(column))) }
  return statement<InsertValues, unknown>((param) => {
    const values = all.map((column) => {
      const [name, type] = column
      if (!isSame(column)) return sql.ref(name)
      return sql`${param('every').map((of) => encode(type, memberOf(of, name)))}::${castOf(type)}`
    })
    return sql`
      insert into ${sql.table(columns.table)} (${namesOf(columns)})
      select ${sql.join(values)} from ${rowsAs('new', own, param('rows'))} ${tail}
    `
  })
}

interface UpdateOptions<R> {
  /** The columns that name the row. All the others are written. */
  readonly key: readonly (keyof R & string)[]
  /** Further assignments, where the rows are `new`. */
  readonly set?: RawBuilder<unknown>
  /** Further conditions. */
  readonly where?: RawBuilder<unknown>
}

/** Updates rows, a thousand per statement. */
export async function updateRows<R extends object>(
  tx: Tx,
  columns: Columns<R>,
  rows: readonly NoInfer<R>[],
  { key, set, where }: UpdateOptions<NoInfer<R>>,
): Promise<void> {
  if (rows.length === 0) return
  // Further parts of the statement may contain values.
  const isFixed = set === undefined && where === undefined
  const known = updates.get(columns) ?? new Map<string, Update>()
  updates.set(columns, known)
  const update = (isFixed ? known.get(key.join()) : undefined) ?? updateOf<{}>(columns, () => ({ key, set, where }))
  if (isFixed) known.set(key.join(), update)
  for (const part of splitRows(rows)) await update(tx, { rows: part })
}

interface BuiltOptions<R> extends UpdateOptions<R> {
  /** The columns of the updated rows that are returned. */
  readonly returning?: RawBuilder<unknown>
}

/**
 * Does the same as updateRows(), but the statement is built once, because nothing in it but the rows and these values ever changes.
 * @param build Returns the further parts of the statement, in which values are parameters.
 * @returns A function that returns what `returning` names of the updated rows.
 */
export function rowsUpdate<R extends object, V extends object = {}, Out = unknown>(
  columns: Columns<R>,
  build: (param: ParamOf<V & GivenRows>) => BuiltOptions<R>,
): (tx: Tx, rows: readonly R[], values: V) => Promise<Out[]> {
  const update = updateOf<V>(columns, build)
  return async (tx, rows, values) => {
    const returned: unknown[][] = []
    for (const part of splitRows(rows)) returned.push(await update(tx, { ...values, rows: part }))
    return returned.flat() as Out[]
  }
}

interface GivenRows {
  readonly rows: readonly object[]
}

type Update<V = {}> = (tx: Tx, values: V & GivenRows) => Promise<unknown[]>

/** The statements of updateRows that depend on nothing but the columns and the key. */
const updates = new WeakMap<object, Map<string, Update>>()

interface UpdateParts {
  readonly key: readonly string[]
  readonly set?: RawBuilder<unknown> | undefined
  readonly where?: RawBuilder<unknown> | undefined
  readonly returning?: RawBuilder<unknown> | undefined
}

function updateOf<V extends object>(
  columns: Columns<never>,
  build: (param: ParamOf<V & GivenRows>) => UpdateParts,
): Update<V> {
  const rows: Columns<object> = { table: columns.table, types: columns.types, more: columns.more }
  const names = Object.keys(columns.types).filter((name) => !columns.more.includes(name))
  const pairs = names.map((name) => ({ name, value: sql.ref(`new.${name}`) }))
  return statement<V & GivenRows, unknown>((param) => {
    const { key, set, where, returning } = build(param)
    const assignments = [
      ...pairs.filter(({ name }) => !key.includes(name)).map(({ name, value }) => sql`${sql.ref(name)} = ${value}`),
      ...(set === undefined ? [] : [set]),
    ]
    const conditions = [
      ...pairs
        .filter(({ name }) => key.includes(name))
        .map(({ name, value }) => sql`${sql.ref(`${columns.table}.${name}`)} = ${value}`),
      ...(where === undefined ? [] : [where]),
    ]
    return sql`
      update ${sql.table(columns.table)} set ${sql.join(assignments)}
      from ${rowsAs('new', rows, param('rows'))} where ${sql.join(conditions, sql` and `)}
      ${returning === undefined ? sql`` : sql`returning ${returning}`}
    `
  })
}

export function memberOf(row: object, name: string): unknown {
  return (row as Readonly<Record<string, unknown>>)[name]
}

function castOf(type: SqlType): RawBuilder<unknown> {
  return sql.raw(type === 'document' ? 'jsonb' : type)
}

/** Encodes a value for a column. */
export function encode(type: SqlType, value: unknown): unknown {
  if (value === null || value === undefined) return null
  if (type === 'document' && typeof value === 'object') return documentText(value)
  return type === 'jsonb' ? json(value) : value
}
