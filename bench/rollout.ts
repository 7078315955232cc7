import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { type Figures, type OptionValues, parseCount } from '../scripts/run-measurement.ts'
import { type OpenContext, openContext } from '../src/app/open-context.ts'
import { createLog } from '../src/platform/log.ts'
import type { Context } from '../src/platform/context.ts'
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/embedded-postgres.ts'
import { migrate } from '../src/platform/migrate.ts'
import { startPoller } from '../src/platform/poller.ts'
import { createSecrets } from '../src/platform/secrets.ts'
import { defaultRolloutOptions } from '../src/rollout/rollout.ts'
import { startRollouts } from '../src/rollout/worker.ts'
import { createOrgUpgrade } from '../src/upgrades/create-org-upgrade.ts'
import { getOrgUpgrade } from '../src/upgrades/store.ts'
import { parseOrgUpgrade } from '../src/upgrades/wire-parse.ts'
import { type Fleet, type SiteSeed, createFleet, seedOrg } from '../test/support/fleet.ts'
import { watchLoop } from './support/loop-watch.ts'
import { cpuSecondsOfDescendants } from './support/process-usage.ts'

export const options = { devices: { type: 'string' }, sites: { type: 'string' } } as const

const DEFAULT_DEVICES = 10_000
const DEFAULT_SITES = 1
const POLL_MS = 200

/**
 * Upgrades devices in four canary phases, on a new database. The devices answer immediately; the engine, the gateway's
 * records and every transition are as in service, with durable commits.
 */
export async function run(values: OptionValues): Promise<Figures> {
  const devices = parseCount(values, 'devices', DEFAULT_DEVICES)
  const sites = parseCount(values, 'sites', DEFAULT_SITES)
  if (sites > devices) throw new Error(`--sites is ${sites}, but must be at most the number of devices, ${devices}`)
  const dataDir = await mkdtemp(join(tmpdir(), 'signalbox-bench-'))
  const log = createLog('warn')
  const postgres = await startEmbeddedPostgres({ dataDir, log })
  try {
    await migrate(postgres.connection)
    const secrets = createSecrets(randomBytes(32))
    const context = await openContext({ connection: postgres.connection, log, secrets, baseUrl: 'http://127.0.0.1' })
    context.listen()
    const figures = await upgradeAll(context, { devices, sites })
    await context.close()
    return figures
  } finally {
    await postgres.stop()
    await rm(dataDir, { recursive: true, force: true, maxRetries: 10 })
  }
}

async function upgradeAll(
  { ctx, pool }: OpenContext,
  { devices, sites }: { readonly devices: number; readonly sites: number },
): Promise<Figures> {
  const org = await seedOrg(ctx, sizesOf(devices, sites))
  const fleet = createFleet(ctx, [org])
  const connectStart = performance.now()
  await fleet.connect(org.sites.flatMap((site) => site.devices))
  const before = await readWork(pool)
  const endWatch = watchLoop()
  const createStart = performance.now()
  const request = parseOrgUpgrade({ all_sites: true, reboot_strategy: 'canary', canary_phases: [1, 10, 50, 100] })
  const { id } = await createOrgUpgrade(ctx, org.scope, request)
  const runStart = performance.now()
  const commands = await carryOut(ctx, fleet, id)
  const end = performance.now()
  const { heldMs, residentMb } = endWatch()
  const upgrade = await getOrgUpgrade(ctx.db, org.scope, id)
  const after = await readWork(pool)
  const upgraded = upgrade.siteUpgrades.flatMap(({ targets }) => targets.upgraded ?? []).length
  const flashes = [...fleet.flashes.values()]
  const flashedTwice = flashes.filter((count) => count > 1).length
  if (upgraded !== devices || commands !== devices || flashedTwice > 0)
    throw new Error(`${upgraded} of ${devices} devices upgraded by ${commands} commands, ${flashedTwice} flashed twice`)
  return {
    devices,
    sites,
    connect_s: seconds(createStart - connectStart),
    create_s: seconds(runStart - createStart),
    run_s: seconds(end - runStart),
    create_ms_per_device: round((runStart - createStart) / devices),
    run_ms_per_device: round((end - runStart) / devices),
    devices_per_s: Math.round(devices / ((end - runStart) / 1000)),
    wal_bytes_per_device: Math.round((after.walBytes - before.walBytes) / devices),
    rows_written_per_device: round((after.rows - before.rows) / devices),
    server_cpu_ms_per_device: round((after.serverCpuMs - before.serverCpuMs) / devices),
    postgres_cpu_ms_per_device: round((after.postgresCpuMs - before.postgresCpuMs) / devices),
    event_loop_held_ms: heldMs,
    memory_mb: residentMb,
    reboots_per_device: flashes.reduce((sum, count) => sum + count, 0) / devices,
    flashed_twice: flashedTwice,
  }
}

/** Distributes the devices over the sites as evenly as possible. */
function sizesOf(devices: number, sites: number): SiteSeed[] {
  return Array.from({ length: sites }, (_, index) => ({
    devices: Math.floor((devices * (index + 1)) / sites) - Math.floor((devices * index) / sites),
  }))
}

/**
 * Sends and answers commands as the gateway does: when it is woken, and at an interval.
 * @returns How many commands were sent.
 */
async function carryOut(ctx: Context, fleet: Fleet, id: string): Promise<number> {
  const rollouts = startRollouts(ctx, { ...defaultRolloutOptions, soakMs: 0 })
  const over = Promise.withResolvers<number>()
  let commands = 0
  const gateway = startPoller({
    name: 'gateway',
    ctx,
    wake: 'commands',
    intervalMs: POLL_MS,
    async work() {
      const sent = await fleet.answer()
      commands += sent
      if (await isOver(ctx, id)) over.resolve(commands)
      return sent > 0
    },
  })
  await over.promise
  await gateway.stop()
  await rollouts.stop()
  return commands
}

interface Work {
  readonly walBytes: number
  /** The number of row versions. */
  readonly rows: number
  /** The processor time of this process, with that of the devices. */
  readonly serverCpuMs: number
  readonly postgresCpuMs: number
}

/** Reads what has been done so far. The connections are idle now. */
async function readWork(pool: pg.Pool): Promise<Work> {
  // A connection reports what it has written at most once per second.
  const idle = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()))
  await Promise.all(idle.map((client) => client.query('select pg_stat_force_next_flush()')))
  for (const client of idle) client.release()
  const { rows } = await pool.query<{ wal: string; rows: string }>(`
    select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as wal,
      (select sum(n_tup_ins + n_tup_upd + n_tup_del) from pg_stat_user_tables) as rows`)
  const { user, system } = process.cpuUsage()
  return {
    walBytes: Number(rows[0]?.wal),
    rows: Number(rows[0]?.rows),
    serverCpuMs: (user + system) / 1000,
    postgresCpuMs: (await cpuSecondsOfDescendants(process.pid)) * 1000,
  }
}

async function isOver({ db }: Context, id: string): Promise<boolean> {
  const row = await db
    .selectFrom('siteUpgrade')
    .select('id')
    .where('orgUpgradeId', '=', id)
    .where('finishedAt', 'is', null)
    .executeTakeFirst()
  return row === undefined
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000
}

function seconds(ms: number): number {
  return Math.round(ms) / 1000
}
