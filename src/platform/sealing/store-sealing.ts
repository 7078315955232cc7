import { type RawBuilder, sql } from 'kysely'
import type { Reader, Tx } from '../database/db.ts'
import { documentText } from './document-column.ts'

export async function findSealedKey(tx: Tx): Promise<Buffer | undefined> {
  return (await tx.selectFrom('masterKey').select('sealed').executeTakeFirst())?.sealed
}

export async function insertSealedKey(tx: Tx, sealed: Buffer): Promise<void> {
  await tx.insertInto('masterKey').values({ sealed }).execute()
}

/** A table with documents, and how far it has been sealed. */
export interface UnsealedTable {
  readonly name: string
  /** The columns of the primary key, with their SQL types. */
  readonly key: readonly { readonly name: string; readonly type: string }[]
  /** The key of the last row that was read; null before the first. */
  readonly after: readonly string[] | null
}

/** Lists the tables with documents that are not sealed throughout. */
export async function listUnsealedTables(reader: Reader): Promise<UnsealedTable[]> {
  const { rows } = await sql<UnsealedTable>`
    select class.relname as name, sealed.after_key as after, (
      select json_agg(json_build_object('name', part.attname, 'type', format_type(part.atttypid, null)) order by place)
      from pg_index, unnest(indkey) with ordinality as keys (number, place)
      join pg_attribute part on part.attnum = keys.number
      where indrelid = class.oid and indisprimary and part.attrelid = class.oid
    ) as key
    from pg_attribute doc join pg_class class on class.oid = doc.attrelid
    left join sealed_table sealed on sealed.table_name = class.relname
    where class.relnamespace = current_schema()::regnamespace and class.relkind = 'r' and doc.attname = 'doc'
      and doc.atttypid = 'jsonb'::regtype and sealed.is_whole is not true
    order by class.relname`.execute(reader)
  return rows
}

/** A row with its document in stored form: queries would open a column named `doc`. */
export interface StoredDocument {
  readonly key: readonly string[]
  readonly stored: Readonly<Record<string, unknown>>
}

/** Locks the next rows in the order of their keys. */
export async function lockNextDocuments(
  tx: Tx,
  { name, key, after }: UnsealedTable,
  limit: number,
): Promise<StoredDocument[]> {
  const columns = sql.join(key.map((column) => sql.ref(column.name)))
  const texts = sql.join(key.map((column) => sql`${sql.ref(column.name)}::text`))
  const following =
    after === null ? sql`true` : sql`(${columns}) > (${sql.join(key.map(({ type }, at) => cast(after[at], type)))})`
  const { rows } = await sql<StoredDocument>`
    select array[${texts}] as key, doc as stored from ${sql.table(name)}
    where ${following} order by ${columns} limit ${limit} for update`.execute(tx)
  return rows
}

export async function updateDocument(
  tx: Tx,
  { name, key }: UnsealedTable,
  { key: values, stored }: StoredDocument,
): Promise<void> {
  const isRow = key.map(({ name: column, type }, at) => sql`${sql.ref(column)} = ${cast(values[at], type)}`)
  await sql`
    update ${sql.table(name)} set doc = ${documentText(stored)}::jsonb where ${sql.join(isRow, sql` and `)}`.execute(tx)
}

export async function upsertSealedTable(
  tx: Tx,
  name: string,
  { after, isWhole }: { readonly after: readonly string[] | null; readonly isWhole: boolean },
): Promise<void> {
  const state = { afterKey: after && [...after], isWhole }
  await tx
    .insertInto('sealedTable')
    .values({ tableName: name, ...state })
    .onConflict((conflict) => conflict.column('tableName').doUpdateSet(state))
    .execute()
}

/** Replaces the statistics of the table: the old ones may contain parts of documents. */
export async function analyzeTable(reader: Reader, name: string): Promise<void> {
  await sql`analyze ${sql.table(name)}`.execute(reader)
}

function cast(value: string | undefined, type: string): RawBuilder<unknown> {
  return sql`${value}::text::${sql.raw(type)}`
}
