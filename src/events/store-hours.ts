import { type RawBuilder, sql } from 'kysely'

/** The begin of the hour of a time, exactly as the index of device events has it: see migration 310. */
export function hourOf(time: RawBuilder<unknown>): RawBuilder<Date> {
  return sql<Date>`date_bin('1 hour', ${time}, 'epoch'::timestamptz)`
}
