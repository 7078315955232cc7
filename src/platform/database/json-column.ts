import type { ColumnType } from 'kysely'

/** A jsonb column: read as the parsed value, written as its JSON text (see `json` in platform/database/db.ts). */
export type Json<T> = ColumnType<T, string, string>

/** As Json, with a default in the database. */
export type DefaultJson<T> = ColumnType<T, string | undefined, string>
