import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { expect, it, onTestFinished } from 'vitest'
import { claimQueuedCommands } from '../../../src/devices/commands/store.ts'
import type { Tx } from '../../../src/platform/database/db.ts'
import { seedOrg } from '../../support/fleets/fleet.ts'
import { createTestContext } from '../../support/servers/server.ts'

const DEVICES = 2000
const LIMIT = 50

it('a claim looks up no more than it claims, however many devices are connected and commands are queued', async () => {
  const context = await createTestContext()
  const { ctx } = context
  onTestFinished(() => context.close())
  await seedOrg(ctx, [{ devices: DEVICES }])
  const nodeId = uuidv7()
  const at = ctx.clock.now()
  const claim = { at, atMs: 0, limit: LIMIT, rebooting: [] }
  // The plan of a connection's first claim, which finds nothing, is that of all later ones.
  const claimed = await ctx.claimDb.connection().execute(async (db) => {
    expect(await claimQueuedCommands(db, nodeId, claim)).toEqual([])
    await sql`insert into device_session (device_id, node_id, epoch, connected, connected_at, firmware, facts, family)
      select id, ${nodeId}::uuid, 1, true, ${at}::timestamptz, '1', '{}', 'ucentral' from device`.execute(ctx.db)
    for (const state of ['done', 'queued'])
      await sql`insert into device_command (org_id, id, device_id, kind, params, state, created_at)
        select org_id, gen_random_uuid(), id, 'unlocate', '{}', ${state}, ${at}::timestamptz from device`.execute(
        ctx.db,
      )
    return db.transaction().execute(async (tx) => {
      const before = await countLookups(tx)
      const found = await claimQueuedCommands(tx, nodeId, claim)
      return { found, lookups: (await countLookups(tx)) - before }
    })
  })
  expect(claimed.found).toHaveLength(LIMIT)
  // A few for each of them, in each of the tables.
  expect(claimed.lookups).toBeLessThan(20 * LIMIT)
})

/** Counts the rows and index scans of this connection, none of which is published while a transaction is open. */
async function countLookups(tx: Tx): Promise<number> {
  const { rows } = await sql<{ count: string }>`
    select sum(idx_scan + idx_tup_fetch) as count from pg_stat_xact_user_tables
    where relname like 'device%'`.execute(tx)
  return Number(rows[0]?.count)
}
