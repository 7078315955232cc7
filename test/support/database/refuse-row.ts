import { sql } from 'kysely'
import type { Context } from '../../../src/platform/context.ts'

export interface RefusedRow {
  readonly table: string
  readonly on: 'insert' | 'update' | 'delete'
  readonly column: string
  readonly value: string
}

/** Makes the database refuse a change of the rows with the value. */
export async function refuseRow({ db }: Pick<Context, 'db'>, { table, on, column, value }: RefusedRow): Promise<void> {
  await sql`
    create or replace function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$
  `.execute(db)
  const row = sql.ref(`${on === 'delete' ? 'old' : 'new'}.${column}`)
  await sql`
    create trigger refuse before ${sql.raw(on)} on ${sql.table(table)} for each row
    when (${row} = ${sql.lit(value)}) execute function refuse()
  `.execute(db)
}

/** Ends what refuseRow() began. */
export async function permitRows({ db }: Pick<Context, 'db'>, table: string): Promise<void> {
  await sql`drop trigger refuse on ${sql.table(table)}`.execute(db)
}
