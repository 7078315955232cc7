import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { expect, it, onTestFinished } from 'vitest'
import { noCapabilities } from '../../../src/devices/commands/capabilities.ts'
import { finishCommands } from '../../../src/devices/commands/store-ended.ts'
import { listLostCalls, markCommandsIdle } from '../../../src/devices/commands/store-lost.ts'
import {
  closeSessions,
  openSessions,
  updateConnectedStatuses,
  updateDisconnectedStatuses,
} from '../../../src/devices/sessions/store.ts'
import { registerDevices } from '../../../src/devices/sessions/store-registered.ts'
import { type Tx, inTx } from '../../../src/platform/database/db.ts'
import { deviceFacts } from '../../support/fleets/devices.ts'
import { seedOrg } from '../../support/fleets/fleet.ts'
import { createTestContext } from '../../support/servers/server.ts'

const DEVICES = 2000
const SOME = 50

it('updates look up the rows of their devices, however many others there are in tables that were never analyzed', async () => {
  const context = await createTestContext()
  const { ctx } = context
  onTestFinished(() => context.close())
  const org = await seedOrg(ctx, [{ devices: DEVICES }])
  const { orgId } = org.scope
  const at = ctx.clock.now()
  const nodeId = uuidv7()
  const devices = org.sites.flatMap((site) => site.devices)
  const openings = devices.map(({ mac, model, type }) => ({
    mac,
    family: 'ucentral',
    facts: deviceFacts({ model, type, capabilities: noCapabilities }),
  }))
  const outcome = { kind: 'done', text: null } as const
  await ctx.keyDb.connection().execute(async (db) => {
    // The plans of triggers are made by their first call, which finds little.
    const connect = async (tx: Tx, some: typeof openings): Promise<void> => {
      await registerDevices(tx, some, at)
      const opened = await openSessions(tx, nodeId, { openings: some, at, atMs: 1 })
      const facts = new Map(some.map((one, index) => [devices[index]?.id, one.facts]))
      const statuses = opened.flatMap(({ deviceId, epoch }) => {
        const known = facts.get(deviceId)
        const booted = { bootCount: 1, bootedAt: at, bootKnownMs: 1, connectedMs: 1, booted: true, writtenBy: null }
        return known === undefined ? [] : [{ orgId, deviceId, epoch, connectedAt: at, facts: known, ...booted }]
      })
      expect(statuses).toHaveLength(some.length)
      await updateConnectedStatuses(tx, statuses)
    }
    const inTransaction = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => inTx({ db, wakes: ctx.wakes }, work)
    await inTransaction((tx) => connect(tx, openings.slice(0, 1)))
    await inTransaction((tx) => connect(tx, openings))
    await sql`insert into device_command (org_id, id, device_id, kind, params, state, call_id, created_at)
      select org_id, id, id, 'unlocate', '{}', 'sent', 7, ${at}::timestamptz from device`.execute(ctx.db)
    const ids = devices.slice(0, SOME).map(({ id }) => id)
    const lookups: Record<string, number> = {}
    const count = async (name: string, rows: number, work: (tx: Tx) => Promise<unknown>): Promise<void> => {
      lookups[name] = await inTransaction(async (tx) => {
        const before = await countLookups(tx)
        await work(tx)
        return ((await countLookups(tx)) - before) / rows
      })
    }
    await count('outcomes', SOME, async (tx) => {
      const ended = await finishCommands(
        tx,
        ids.map((id) => ({ orgId, id, callId: 7, outcome })),
        at,
      )
      expect(ended).toHaveLength(SOME)
    })
    await count('closed', SOME, async (tx) => {
      const keys = ids.map((deviceId) => ({ deviceId, epoch: '1' }))
      // The first device has opened a newer one.
      expect(await closeSessions(tx, keys, 2)).toHaveLength(SOME - 1)
    })
    await count('down', SOME, async (tx) => expect(await updateDisconnectedStatuses(tx, ids, at)).toHaveLength(SOME))
    await count('connected', SOME, (tx) => connect(tx, openings.slice(0, SOME)))
    // Nearly always few devices are disconnected: a plan for a few serves many.
    await sql`analyze device_disconnection`.execute(ctx.db)
    const all = devices.map(({ id }) => id)
    await count('all down', DEVICES, (tx) => updateDisconnectedStatuses(tx, all, at))
    await count('all connected', DEVICES, (tx) => connect(tx, openings))
    await sql`update device_command set kind = 'upgrade', site_upgrade_id = id, state = 'unknown', epoch = 0,
      outcome = '{"why": "gateway_lost"}' where id = any(${ids})`.execute(ctx.db)
    await count('lost', SOME, async (tx) => expect(await listLostCalls(tx, ids)).toHaveLength(SOME))
    const sessions = await ctx.db.selectFrom('deviceSession').select(['deviceId', 'epoch']).execute()
    await count('idle', SOME, (tx) =>
      markCommandsIdle(
        tx,
        sessions.flatMap((key) => (ids.includes(key.deviceId) ? [{ ...key, executing: [] }] : [])),
      ),
    )
    const idle = await sql`select from device_command where outcome ? 'idle'`.execute(ctx.db)
    expect(idle.rows).toHaveLength(SOME)
    for (const [name, each] of Object.entries(lookups)) expect(each, name).toBeLessThan(40)
  })
})

/** Counts the rows and scans of this connection, none of which is published while a transaction is open. */
async function countLookups(tx: Tx): Promise<number> {
  const { rows } = await sql<{ count: string }>`
    select sum(idx_scan + idx_tup_fetch + seq_scan + seq_tup_read) as count from pg_stat_xact_user_tables
    where relname like 'device%'`.execute(tx)
  return Number(rows[0]?.count)
}
