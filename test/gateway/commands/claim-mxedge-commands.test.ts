import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { expect, it, onTestFinished } from 'vitest'
import { claimQueuedCommands } from '../../../src/mxedges/commands/store.ts'
import type { Tx } from '../../../src/platform/database/db.ts'
import { seedOrg } from '../../support/fleets/fleet.ts'
import { createTestContext } from '../../support/servers/server.ts'

const APPLIANCES = 2000
const QUEUED = 3

it('a claim looks up only what is queued, however many appliances are connected', async () => {
  const context = await createTestContext()
  const { ctx } = context
  onTestFinished(() => context.close())
  const { scope } = await seedOrg(ctx, [{ devices: 1 }])
  const nodeId = uuidv7()
  const now = ctx.clock.now()
  const values = (table: string, columns: string, select: ReturnType<typeof sql>) =>
    sql`insert into ${sql.table(table)} (${sql.raw(columns)}) ${select}`.execute(ctx.db)
  await values(
    'mxedge',
    'org_id, id, name, model, registration_code, created_at, modified_at',
    sql`select ${scope.orgId}::uuid, gen_random_uuid(), 'Edge', 'ME-VM', 'EDGE' || n, ${now}::timestamptz, ${now}::timestamptz
      from generate_series(1, ${sql.lit(APPLIANCES)}) n`,
  )
  await values(
    'mxedge_session',
    'org_id, mxedge_id, node_id, epoch, connected, connected_ms, last_seen_at, facts',
    sql`select org_id, id, ${nodeId}::uuid, 1, true, 0, ${now}::timestamptz, '{}' from mxedge`,
  )
  const commands = (state: string, count: number) =>
    values(
      'mxedge_command',
      'org_id, id, mxedge_id, kind, params, state, created_at, expires_at',
      sql`select org_id, gen_random_uuid(), id, 'service', '{}', ${state}, ${now}::timestamptz, ${now}::timestamptz + interval '1 hour'
        from mxedge limit ${sql.lit(count)}`,
    )
  await commands('done', APPLIANCES)
  await commands('queued', QUEUED)
  const { claimed, lookups } = await ctx.claimDb.transaction().execute(async (tx) => {
    const before = await countLookups(tx)
    const found = await claimQueuedCommands(tx, nodeId, { at: now, limit: 100 })
    return { claimed: found, lookups: (await countLookups(tx)) - before }
  })
  expect(claimed).toHaveLength(QUEUED)
  // A few for each of them, in each of the tables.
  expect(lookups).toBeLessThan(20 * QUEUED)
})

/** Counts the index scans of this connection that are not published yet, which those of an open transaction never are. */
async function countLookups(tx: Tx): Promise<number> {
  const { rows } = await sql<{ count: string }>`
    select sum(idx_scan) as count from pg_stat_xact_user_tables where relname like 'mxedge%'`.execute(tx)
  return Number(rows[0]?.count)
}
