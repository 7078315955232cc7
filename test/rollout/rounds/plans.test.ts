import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { OrgScope } from '../../../src/access/scope.ts'
import { type CommandToSend, claimQueuedCommands } from '../../../src/devices/commands/store.ts'
import { assignDevices } from '../../../src/devices/commands/store-upgrades.ts'
import { insertUpgradeCommands } from '../../../src/devices/commands/store-upgrade-commands.ts'
import { noCapabilities } from '../../../src/devices/commands/capabilities.ts'
import { finishCommands, markCommandsLost } from '../../../src/devices/commands/store-ended.ts'
import { type Tx, inTx, inTxByKeys } from '../../../src/platform/database/db.ts'
import { defaultRolloutOptions } from '../../../src/rollout/rollout.ts'
import { updateTargets } from '../../../src/rollout/rounds/store.ts'
import { findPortionEnds, targetQuery } from '../../../src/rollout/targets/store.ts'
import { advanceRollouts } from '../../../src/rollout/worker.ts'
import { createOrgUpgrade } from '../../../src/upgrades/creation/create-org-upgrade.ts'
import { parseOrgUpgrade } from '../../../src/upgrades/wire-parse.ts'
import { createFleet, seedOrg } from '../../support/fleets/fleet.ts'
import { type TestContext, createTestContext } from '../../support/servers/server.ts'
import { createTestClock } from '../../support/test-clock.ts'

const DEVICES = 1000
const PORTION = 50
/** Enough for the planner to prefer an index by phase. */
const TARGETS = 100_000
const tables = [
  'device',
  'device_status',
  'device_session',
  'device_command',
  'firmware_download',
  'site_upgrade',
  'upgrade_target',
]

/** A node of a plan that has run. */
interface PlanNode {
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Join Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly PlanNode[]
}

/** The most rows that any node of the plan has looked at. */
function mostRows(node: PlanNode): number {
  const rows =
    node['Actual Rows'] +
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Join Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0)
  return Math.max(Math.round(rows * node['Actual Loops']), ...(node.Plans ?? []).map(mostRows))
}

interface Upgrade {
  readonly scope: OrgScope
  readonly siteUpgrades: readonly Omit<Parameters<typeof targetQuery>[1][number], 'isDue'>[]
}

/** Upgrades new devices and lets the engine command all of them. */
async function commandAll({ ctx }: TestContext, devices: number): Promise<Upgrade> {
  const org = await seedOrg(ctx, [{ devices }])
  await createFleet(ctx, [org]).connect(org.sites.flatMap((site) => site.devices))
  const request = parseOrgUpgrade({ all_sites: true, strategy: 'big_bang' })
  const { siteUpgrades } = await createOrgUpgrade(ctx, org.scope, request)
  await advanceRollouts(ctx, defaultRolloutOptions, new AbortController().signal)
  const ids = siteUpgrades.map(({ id }) => id)
  return {
    scope: org.scope,
    siteUpgrades: await ctx.db.selectFrom('siteUpgrade').selectAll().where('id', 'in', ids).execute(),
  }
}

/** Reads the targets as the engine's next round would: because the upgrade is due, or because all have changed. */
async function readTargets(
  { ctx }: TestContext,
  { scope, siteUpgrades }: Upgrade,
  { isDue }: { readonly isDue: boolean },
): Promise<number> {
  const targets = ctx.db.selectFrom('upgradeTarget').select(['upgradeId', 'deviceId']).where('orgId', '=', scope.orgId)
  const changes = isDue ? [] : await targets.execute()
  const limits = {
    changes,
    unsentSinceMs: 0,
    stalledSinceMs: 0,
    absentSinceMs: 0,
    now: ctx.clock.now(),
    gatewayNode: null,
  }
  const query = targetQuery(
    scope,
    siteUpgrades.map((siteUpgrade) => Object.assign(siteUpgrade, { isDue })),
    limits,
  )
  const explain = sql<{ 'QUERY PLAN': readonly [{ readonly Plan: PlanNode }] }>`explain (analyze, format json) ${query}`
  const { rows } = await inTxByKeys(ctx, (tx) => explain.execute(tx))
  const [explained] = rows
  if (explained === undefined) throw new Error('no plan')
  return mostRows(explained['QUERY PLAN'][0].Plan)
}

/** Finds the end of a portion of the targets. @returns How many rows of targets that read. */
async function readPortion({ ctx }: TestContext, { scope, siteUpgrades }: Upgrade, size: number): Promise<number> {
  return inTxByKeys(ctx, async (tx) => {
    const before = await rowsRead(tx, 'upgrade_target')
    const rows = siteUpgrades.map((siteUpgrade) => Object.assign({}, siteUpgrade, { after: null }))
    const ends = await findPortionEnds(tx, scope, rows, size)
    expect(ends.size).toBe(siteUpgrades.length)
    return (await rowsRead(tx, 'upgrade_target')) - before
  })
}

/** Moves some targets on. @returns How many rows of targets that read. */
async function moveTargets({ ctx }: TestContext, scope: OrgScope, count: number): Promise<number> {
  const all = ctx.db.selectFrom('upgradeTarget').selectAll().where('orgId', '=', scope.orgId)
  const targets = await all.orderBy('ordinal', 'desc').limit(count).execute()
  const moved = { state: 'downloading' as const, commandId: null, timeline: '', downAt: null, upAt: null }
  const changes = targets.map((target) => Object.assign(target, moved))
  return inTxByKeys(ctx, async (tx) => {
    const before = await rowsRead(tx, 'upgrade_target')
    await updateTargets(tx, changes, { now: ctx.clock.now(), nowMs: 0 })
    return (await rowsRead(tx, 'upgrade_target')) - before
  })
}

/** Adds targets of deleted devices to the upgrade. */
async function addTargets({ ctx }: TestContext, count: number): Promise<void> {
  await sql`
    insert into upgrade_target (org_id, upgrade_id, device_id, mac, model, phase, ordinal, image_id, from_version,
      target_version, force, state, entered_at)
    select org_id, upgrade_id, gen_random_uuid(), mac, model, phase, ordinal + number, image_id, from_version,
      target_version, force, state, entered_at
    from upgrade_target, generate_series(1, ${count}::integer) number
  `.execute(ctx.db)
}

/** Returns the number of rows of the table that the connection has read recently. */
async function rowsRead(tx: Tx, table: string): Promise<number> {
  const { rows } = await sql<{ read: string }>`
    select seq_tup_read + idx_tup_fetch as read from pg_stat_xact_user_tables where relname = ${table}
  `.execute(tx)
  return Number(rows[0]?.read)
}

interface Claimed {
  readonly commands: readonly CommandToSend[]
  /** The number of rows of commands that were read for them. */
  readonly read: number
}

/** Claims commands as the gateway does. */
async function claimCommands({ ctx }: TestContext, { scope }: Upgrade, limit: number): Promise<Claimed> {
  const { nodeId } = await ctx.db
    .selectFrom('deviceSession')
    .innerJoin('device', 'device.id', 'deviceSession.deviceId')
    .select('nodeId')
    .where('device.orgId', '=', scope.orgId)
    .executeTakeFirstOrThrow()
  return inTxByKeys(ctx, async (tx) => {
    const before = await rowsRead(tx, 'device_command')
    const commands = await claimQueuedCommands(tx, nodeId, { at: ctx.clock.now(), atMs: 0, limit, rebooting: [] })
    return { commands, read: (await rowsRead(tx, 'device_command')) - before }
  })
}

/** Inserts the commands of the upgrade once more, and then those of a second attempt. @returns How many rows of commands and devices that read. */
async function queueAgain({ ctx }: TestContext, { scope }: Upgrade) {
  const known = await ctx.db.selectFrom('deviceCommand').selectAll().where('orgId', '=', scope.orgId).execute()
  const params = { image_id: uuidv7(), version: '' }
  const carrier = { epoch: '1', mac: '', type: 'ap' as const, capabilities: noCapabilities }
  const commands = known.map((row) => {
    return Object.assign({}, row, { id: uuidv7(), kind: 'upgrade' as const, params, carrier })
  })
  const times = { at: ctx.clock.now(), atMs: 0 }
  return inTxByKeys(ctx, async (tx) => {
    const count = async () => [await rowsRead(tx, 'device_command'), await rowsRead(tx, 'device')] as const
    const [ofCommands, ofDevices] = await count()
    await insertUpgradeCommands(tx, scope, commands, times)
    const again = commands.map((command) => Object.assign({}, command, { id: uuidv7(), attempt: 2 }))
    await insertUpgradeCommands(tx, scope, again, times)
    const [commandsRead, devicesRead] = await count()
    return { known: known.length, commands: commandsRead - ofCommands, devices: devicesRead - ofDevices }
  })
}

/** Ends commands by `end`. @returns How many rows of commands that read. */
async function endCommands({ ctx }: TestContext, end: (tx: Tx) => Promise<unknown>): Promise<number> {
  return inTxByKeys(ctx, async (tx) => {
    const before = await rowsRead(tx, 'device_command')
    await end(tx)
    return (await rowsRead(tx, 'device_command')) - before
  })
}

describe('a large upgrade on a database that PostgreSQL has not analyzed, or when it was almost empty', () => {
  let test: TestContext
  beforeEach(async () => {
    test = await createTestContext(createTestClock())
    for (const table of tables)
      await sql`alter table ${sql.table(table)} set (autovacuum_enabled = off)`.execute(test.ctx.db)
  })
  afterEach(() => test.close())

  async function analyzeAlmostEmpty(): Promise<void> {
    for (const table of tables) await sql`truncate ${sql.table(table)} cascade`.execute(test.ctx.db)
    await commandAll(test, 1)
    await sql`analyze`.execute(test.ctx.db)
  }

  it('has each of its rows read once in a round', { timeout: 60_000 }, async () => {
    const { scope, siteUpgrades } = await commandAll(test, DEVICES)
    expect(await readTargets(test, { scope, siteUpgrades }, { isDue: true })).toBe(DEVICES)
    expect(await readTargets(test, { scope, siteUpgrades }, { isDue: false })).toBe(DEVICES)
    expect(await readPortion(test, { scope, siteUpgrades }, PORTION)).toBe(PORTION)
    await analyzeAlmostEmpty()
    const later = await commandAll(test, DEVICES)
    expect(await readTargets(test, later, { isDue: true })).toBe(DEVICES)
    expect(await readTargets(test, later, { isDue: false })).toBe(DEVICES)
    expect(await readPortion(test, later, PORTION)).toBe(PORTION)
  })

  it('has each of its devices looked up twice when it is created', { timeout: 60_000 }, async () => {
    const { ctx } = test
    await sql`alter table device_upgrade set (autovacuum_enabled = off)`.execute(ctx.db)
    const { scope, sites } = await seedOrg(ctx, [{ devices: 3 * DEVICES }])
    const ids = sites.flatMap(({ devices }) => devices.map(({ id }) => id))
    const [upgradeId, orgUpgradeId, imageId] = [uuidv7(), uuidv7(), uuidv7()]
    const wanted = ids.map((deviceId) => ({ deviceId, upgradeId, orgUpgradeId, imageId, laterImages: null }))
    const read = await inTx(ctx, async (tx) => {
      const before = await rowsRead(tx, 'device_upgrade')
      expect(await assignDevices(tx, scope, wanted, ctx.clock.now())).toEqual(new Set(ids))
      return (await rowsRead(tx, 'device_upgrade')) - before
    })
    expect(read).toBe(2 * ids.length)
  })

  it('has its targets written in the order of their keys, whatever their phases', async () => {
    const { ctx } = test
    const { scope } = await seedOrg(ctx, [{ devices: 40 }, { devices: 60 }])
    await createOrgUpgrade(
      ctx,
      scope,
      parseOrgUpgrade({ all_sites: true, strategy: 'canary', canary_phases: [10, 100] }),
    )
    const { rows } = await sql<{ key: string; phase: number; ordinal: number }>`
      select upgrade_id || ' ' || device_id as key, phase, ordinal from upgrade_target order by ctid`.execute(ctx.db)
    const keys = rows.map(({ key }) => key)
    expect(keys).toHaveLength(100)
    expect(keys).toEqual(keys.toSorted())
    const first = rows.filter(({ phase }) => phase === 1)
    expect(first).toHaveLength(10)
    expect(first.map(({ key }) => key)).not.toEqual(keys.slice(0, 10))
    // Places continue from phase to phase of a site.
    expect(Math.max(...first.map(({ ordinal }) => ordinal))).toBeLessThanOrEqual(10)
    expect(Math.max(...rows.map(({ ordinal }) => ordinal))).toBe(60)
  })

  it('leaves the settings of a transaction as they were', async () => {
    const { scope, siteUpgrades } = await commandAll(test, 1)
    await inTxByKeys(test.ctx, async (tx) => {
      const settingsOf = async () => (await sql`select name, setting from pg_settings order by name`.execute(tx)).rows
      const before = await settingsOf()
      const rows = siteUpgrades.map((siteUpgrade) => Object.assign({}, siteUpgrade, { after: null }))
      await findPortionEnds(tx, scope, rows, PORTION)
      expect(await settingsOf()).toEqual(before)
    })
  })

  it('has each of its targets found by its key', { timeout: 60_000 }, async () => {
    const { scope } = await commandAll(test, 1)
    // By then the connection has a plan that was made for one row.
    for (let times = 0; times < 10; times++) expect(await moveTargets(test, scope, 1)).toBe(1)
    await addTargets(test, DEVICES)
    expect(await moveTargets(test, scope, DEVICES / 20)).toBe(DEVICES / 20)
    await addTargets(test, TARGETS / DEVICES)
    expect(await moveTargets(test, scope, DEVICES)).toBe(DEVICES)
  })

  it('has its commands inserted by their keys, and reads no device for it', { timeout: 60_000 }, async () => {
    const queue = async (upgrade: Upgrade) => {
      const { known, commands, devices } = await queueAgain(test, upgrade)
      // Each of the first is looked up by its key; each of the second finds the open command of its device.
      expect([known, commands, devices]).toEqual([DEVICES, 3 * DEVICES, 0])
    }
    await queue(await commandAll(test, DEVICES))
    await analyzeAlmostEmpty()
    await queue(await commandAll(test, DEVICES))
  })

  it('has each of its commands found by its key', { timeout: 60_000 }, async () => {
    const part = 100
    const workOff = async (upgrade: Upgrade) => {
      for (const end of [finish, lose, finish, lose]) {
        const { commands, read } = await claimCommands(test, upgrade, part)
        expect(commands).toHaveLength(part)
        // Each row is read in the queue, as the oldest of its device, as one in flight, to be locked, and to be written.
        expect(read).toBeLessThanOrEqual(6 * part)
        // As one in flight, to be locked, to be written, and as one of its device that might be queued.
        expect(await endCommands(test, (tx) => end(tx, commands))).toBeLessThanOrEqual(4 * part)
      }
    }
    const at = test.ctx.clock.now()
    const finish = (tx: Tx, commands: readonly CommandToSend[]) =>
      finishCommands(
        tx,
        commands.map((command) => Object.assign(command, { outcome: { kind: 'done' as const, text: null } })),
        at,
      )
    const lose = (tx: Tx, commands: readonly CommandToSend[]) =>
      markCommandsLost(tx, commands, { at, why: 'connection_lost' })
    await workOff(await commandAll(test, DEVICES))
    await analyzeAlmostEmpty()
    await workOff(await commandAll(test, DEVICES))
  })
})
