import { sql } from 'kysely'
import { expect } from 'vitest'
import type { Db } from '../../../src/platform/database/db.ts'
import { databaseState } from '../../support/database/database-state.ts'

/** Kills connections at their writes to chosen tables: the writer dies before it can commit. */
export interface KillSwitch {
  /** From now on, the first write to the table kills its connection; null: no write does. */
  arm(table: string | null): Promise<void>
  /**
   * Runs an act, which dies at its write to each of the tables in turn and must then have changed nothing, until it writes
   * to one of them no more, and succeeds.
   * @returns How often it died.
   */
  killAt(tables: readonly string[], act: () => Promise<unknown>): Promise<number>
}

export async function createKillSwitch(db: Db, tables: readonly string[]): Promise<KillSwitch> {
  await sql`create table kill_switch (target text)`.execute(db)
  await sql`
    create function kill_connection() returns trigger language plpgsql as $$
      begin
        if exists (select from kill_switch where target = tg_table_name) then
          perform pg_terminate_backend(pg_backend_pid());
          perform pg_sleep(10);
        end if;
        return null;
      end $$
  `.execute(db)
  const watched = [...new Set(tables)]
  for (const table of watched)
    await sql`create trigger kill_connection before insert or update or delete on ${sql.table(table)}
      for each statement execute function kill_connection()`.execute(db)
  const arm = async (table: string | null): Promise<void> => {
    await sql`delete from kill_switch`.execute(db)
    if (table !== null) await sql`insert into kill_switch values (${table})`.execute(db)
  }
  return {
    arm,
    async killAt(points, act) {
      let kills = 0
      for (const table of points) {
        await arm(table)
        const before = await databaseState(db, watched)
        const died = await act().then(
          () => false,
          () => true,
        )
        if (died) expect(await databaseState(db, watched)).toEqual(before)
        await arm(null)
        if (!died) return kills
        kills += 1
      }
      await act()
      return kills
    },
  }
}
