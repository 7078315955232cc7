import { sql } from 'kysely'
import type { TestServer } from '../servers/server.ts'
import { waitUntil } from '../wait-until.ts'

/** Waits until this many transactions wait for a row that another one has locked. */
export async function untilWaiting({ ctx }: Pick<TestServer, 'ctx'>, count: number): Promise<void> {
  await waitUntil(`${count} to wait for a lock`, async () => {
    const waiting = await sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(ctx.db)
    return waiting.rows.length >= count
  })
}
