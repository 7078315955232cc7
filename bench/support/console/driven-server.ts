import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { sql } from 'kysely'
import { parseConfig } from '../../../src/app/config/config.ts'
import { startServer } from '../../../src/app/start.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { noteChanges } from '../../../src/platform/database/changes.ts'
import type { Context } from '../../../src/platform/context.ts'
import { type Fleet, type SeededOrg, createFleet, seedOrg } from '../../../test/support/fleets/fleet.ts'

/** A request to the process of the server. */
export type Ask =
  /** Adds connected devices, distributed evenly over the sites. The reply is `Seeded`. */
  | { readonly kind: 'seed'; readonly orgId: string; readonly sites: number; readonly devices: number }
  /** Renames devices at a constant rate. The reply is `Renamed`. */
  | { readonly kind: 'rename'; readonly perS: number; readonly seconds: number }
  /** Carries out the commands of upgrades at a constant rate. The reply is `Upgraded`. */
  | { readonly kind: 'upgrade'; readonly devicesPerS: number; readonly seconds: number }

  /** Collects garbage. The reply is `Memory`. */
  | { readonly kind: 'memory' }

export interface Memory {
  /** The size of live objects and buffers. */
  readonly usedBytes: number
  readonly residentBytes: number
}

export interface Seeded {
  readonly siteIds: readonly string[]
}

export interface Renamed {
  /** The commit of each change in epoch milliseconds. The name of the device contains the index. */
  readonly committedMs: readonly number[]
}

export interface Upgraded {
  readonly devices: number
  /** The number of writes of targets. */
  readonly changes: number
  readonly seconds: number
}

/** Changes of one tick share a transaction. */
const TICK_MS = 50
const REPORT_MS = 1500
const TICKS_PER_S = 1000 / TICK_MS

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const running = await startServer(parseConfig(process.env))
const { ctx } = running
let org: SeededOrg | null = null
let fleet: Fleet | null = null

process.on('message', (message: Ask) => void answer(message).then((reply) => process.send?.(reply)))
const end = (): void => void running.stop().finally(() => process.exit(0))
process.once('SIGINT', end)
process.once('disconnect', end)
console.log(`signalbox ready ${running.url}`)

async function answer(message: Ask): Promise<Seeded | Renamed | Upgraded | Memory> {
  if (message.kind === 'memory') return measureMemory()
  if (message.kind === 'seed') return seed(message)
  return message.kind === 'rename' ? rename(message) : upgrade(message)
}

async function measureMemory(): Promise<Memory> {
  for (let round = 0; round < 3; round += 1) {
    collectGarbage()
    await delay(TICK_MS)
  }
  const { heapUsed, external, rss } = process.memoryUsage()
  return { usedBytes: heapUsed + external, residentBytes: rss }
}

async function seed({ orgId, sites, devices }: Extract<Ask, { kind: 'seed' }>): Promise<Seeded> {
  const seeds = Array.from({ length: sites }, (_, place) => ({ name: `Site ${place + 1}`, devices: devices / sites }))
  org = await seedOrg(ctx, seeds, orgId)
  await ctx.db
    .updateTable('device')
    .set({ name: sql`'Device ' || mac` })
    .where('orgId', '=', orgId)
    .execute()
  fleet = createFleet(ctx, [org])
  await fleet.connect(org.sites.flatMap((site) => site.devices))
  return { siteIds: org.sites.map(({ id }) => id) }
}

async function rename({ perS, seconds }: Extract<Ask, { kind: 'rename' }>): Promise<Renamed> {
  if (org === null) throw new Error('nothing is seeded')
  const { orgId } = org.scope
  // The order alternates between the sites, so that all channels get the same number of changes.
  const { sites } = org
  const longest = Math.max(...sites.map(({ devices }) => devices.length))
  const devices = Array.from({ length: longest }, (_, place) => sites.flatMap((site) => site.devices[place]?.id ?? []))
  const ids = devices.flat()
  const committedMs: number[] = []
  await steadily(seconds, async () => {
    const some = Array.from({ length: perS / TICKS_PER_S }, (_, place) => {
      const change = committedMs.length + place
      return { id: ids[change % ids.length] ?? '', name: `change ${change}` }
    })
    await inTx(ctx, async (tx) => {
      await sql`update device set name = said.name from jsonb_to_recordset(${JSON.stringify(some)}::jsonb)
        as said (id uuid, name text) where device.org_id = ${orgId} and device.id = said.id`.execute(tx)
      noteChanges(
        tx,
        'device',
        some.map(({ id }) => ({ orgId, id })),
      )
    })
    const nowMs = Date.now()
    for (const _ of some) committedMs.push(nowMs)
  })
  return { committedMs }
}

async function upgrade({ devicesPerS, seconds: runS }: Extract<Ask, { kind: 'upgrade' }>): Promise<Upgraded> {
  if (fleet === null) throw new Error('nothing is seeded')
  const before = await countChanges(ctx)
  const beganMs = performance.now()
  let devices = 0
  const ended = fleet
  await steadily(runS, async () => {
    const due = Math.floor(((performance.now() - beganMs) / 1000) * devicesPerS)
    if (devices < due) devices += await ended.answer()
  })
  const seconds = (performance.now() - beganMs) / 1000
  return { devices, changes: (await countChanges(ctx)) - before, seconds }
}

/** Counts the updates of targets. Sessions of the database report theirs within a second. */
async function countChanges({ db }: Context): Promise<number> {
  await delay(REPORT_MS)
  const { rows } = await sql<{ count: string }>`
    select n_tup_upd as count from pg_stat_user_tables where relname = 'upgrade_target'`.execute(db)
  return Number(rows[0]?.count)
}

/** Calls `work` once per tick. A longer tick delays the next one. */
async function steadily(seconds: number, work: () => Promise<void>): Promise<void> {
  const beganMs = performance.now()
  for (let tick = 1; tick <= seconds * TICKS_PER_S; tick += 1) {
    await work()
    const waitMs = beganMs + tick * TICK_MS - performance.now()
    if (waitMs > 0) await delay(waitMs)
    if (performance.now() - beganMs > seconds * 1000) return
  }
}
