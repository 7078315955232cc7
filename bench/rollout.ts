import { randomBytes } from 'node:crypto'
import { type Figures, type OptionValues, parseCount } from '../scripts/run-measurement.ts'
import { systemScope } from '../src/access/scope.ts'
import { type OpenContext, openContext } from '../src/app/open-context.ts'
import type { Context } from '../src/platform/context.ts'
import { startPoller } from '../src/platform/time/poller.ts'
import { createSecrets } from '../src/platform/secrets.ts'
import { defaultRolloutOptions } from '../src/rollout/rollout.ts'
import { startRollouts } from '../src/rollout/worker.ts'
import { createOrgUpgrade } from '../src/upgrades/creation/create-org-upgrade.ts'
import { parseOrgUpgrade } from '../src/upgrades/wire-parse.ts'
import { withDatabase } from './support/database.ts'
import { watchLoop } from './support/loop-watch.ts'
import { cpuSecondsOfDescendants } from './support/process-usage.ts'
import { saveMemoryAsServer } from './support/server-memory.ts'
import { upgradeOverWire } from './support/rollout/over-wire.ts'
import { type DevicesProcess, startDevices } from './support/rollout/start-devices.ts'
import { readWritten } from './support/database-statistics.ts'
import { readTableWrites, writeBareRows } from './support/rollout/bare-rows.ts'

export const options = {
  devices: { type: 'string' },
  sites: { type: 'string' },
  wire: { type: 'boolean' },
  'image-kb': { type: 'string' },
} as const

const DEFAULT_DEVICES = 10_000
const DEFAULT_SITES = 1
/** With `--wire`. An image that is sent quickly: the transfer of bytes is not what the benchmark measures. */
const DEFAULT_IMAGE_KB = 100
/** The end of the run is noticed at most this much later. A poll takes half a millisecond. */
const POLL_MS = 20

/**
 * Upgrades devices in four canary phases, on a new database. The devices answer immediately; the engine, the gateway's
 * records and every transition are as in service, with durable commits. The devices and the gateway's records are in a
 * process of their own: what this process needs is needed by the API and the engine. With `--wire`, simulated access
 * points and a server as in service are measured instead, see upgradeOverWire().
 */
export async function run(values: OptionValues): Promise<Figures> {
  const devices = parseCount(values, 'devices', DEFAULT_DEVICES)
  if (values['wire'] === true)
    return upgradeOverWire({ devices, imageBytes: 1000 * parseCount(values, 'image-kb', DEFAULT_IMAGE_KB) })
  const sites = parseCount(values, 'sites', DEFAULT_SITES)
  if (sites > devices) throw new Error(`--sites is ${sites}, but must be at most the number of devices, ${devices}`)
  return withDatabase('warn', async (database) => {
    const { connection } = database
    const masterKey = randomBytes(32)
    const context = await openContext({ ...database, secrets: createSecrets(masterKey) })
    context.listen()
    saveMemoryAsServer()
    const fleet = await startDevices(context, { connection, masterKey: masterKey.toString('hex'), devices, sites })
    const before = await readTableWrites(context.pool, context.pools)
    const figures = await upgradeAll(context, fleet, { devices, sites })
    await fleet.end()
    await context.close()
    const bare = await writeBareRows(connection, { before, devices })
    return {
      ...figures,
      bare_s: seconds(1000 * bare.seconds),
      bare_rows_per_device: round(bare.rows / devices),
      bare_postgres_cpu_ms_per_device: round(bare.databaseCpuMs / devices),
    }
  })
}

async function upgradeAll(
  { ctx, pool, pools }: OpenContext,
  fleet: DevicesProcess,
  { devices, sites }: { readonly devices: number; readonly sites: number },
): Promise<Figures> {
  const before = await readWritten(pool, pools)
  const [cpuBefore, allBefore] = [cpuMsOfThis(), await cpuMsOfOthers()]
  const restMb = Math.round(process.memoryUsage.rss() / BYTES_PER_MB)
  const endCreation = watchLoop()
  const createStart = performance.now()
  const request = parseOrgUpgrade({ all_sites: true, reboot_strategy: 'canary', canary_phases: [1, 10, 50, 100] })
  const { id } = await createOrgUpgrade(ctx, systemScope('operator', fleet.orgId), request)
  const runStart = performance.now()
  const creation = endCreation()
  const endRun = watchLoop()
  fleet.answer()
  await carryOut(ctx, id, fleet.nodeId)
  const end = performance.now()
  const upgrading = endRun()
  const done = await fleet.report()
  const after = await readWritten(pool, pools)
  const [cpu, all] = [cpuMsOfThis() - cpuBefore, (await cpuMsOfOthers()) - allBefore]
  const upgraded = await countUpgraded(ctx, id)
  if (upgraded !== devices || done.commands !== devices || done.flashedTwice > 0)
    throw new Error(
      `${upgraded} of ${devices} devices upgraded by ${done.commands} commands, ${done.flashedTwice} flashed twice`,
    )
  return {
    devices,
    sites,
    connect_s: seconds(fleet.connectMs),
    create_s: seconds(runStart - createStart),
    run_s: seconds(end - runStart),
    create_ms_per_device: round((runStart - createStart) / devices),
    run_ms_per_device: round((end - runStart) / devices),
    devices_per_s: Math.round(devices / ((end - runStart) / 1000)),
    wal_bytes_per_device: Math.round((after.walBytes - before.walBytes) / devices),
    wal_full_pages_per_device: round((after.fullPages - before.fullPages) / devices),
    rows_written_per_device: round((after.rows - before.rows) / devices),
    server_cpu_ms_per_device: round((cpu + done.cpuMs) / devices),
    engine_cpu_ms_per_device: round(cpu / devices),
    gateway_cpu_ms_per_device: round(done.cpuMs / devices),
    postgres_cpu_ms_per_device: round((all - done.cpuMs) / devices),
    create_event_loop_held_ms: creation.heldMs,
    create_longest_turn_cpu_ms: creation.heldCpuMs,
    run_event_loop_held_ms: upgrading.heldMs,
    run_longest_turn_cpu_ms: upgrading.heldCpuMs,
    event_loop_held_ms: Math.max(creation.heldMs, upgrading.heldMs),
    longest_turn_cpu_ms: Math.max(creation.heldCpuMs, upgrading.heldCpuMs),
    gateway_event_loop_held_ms: done.heldMs,
    rest_memory_mb: restMb,
    create_memory_mb: creation.residentMb,
    run_memory_mb: upgrading.residentMb,
    memory_mb: Math.max(creation.residentMb, upgrading.residentMb),
    devices_memory_mb: done.residentMb,
    reboots_per_device: done.flashes / devices,
    flashed_twice: done.flashedTwice,
  }
}

const BYTES_PER_MB = 1e6

function cpuMsOfThis(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** That of PostgreSQL and the devices. */
async function cpuMsOfOthers(): Promise<number> {
  return (await cpuSecondsOfDescendants(process.pid)) * 1000
}

/** Runs the engine until the upgrade has ended. */
async function carryOut(ctx: Context, id: string, nodeId: string): Promise<void> {
  const rollouts = startRollouts(ctx, { ...defaultRolloutOptions, soakMs: 0, gatewayNode: () => nodeId })
  const over = Promise.withResolvers<void>()
  const looks = startPoller({
    name: 'looks',
    ctx,
    intervalMs: POLL_MS,
    async work() {
      if (await isOver(ctx, id)) over.resolve()
      return null
    },
  })
  await over.promise
  await looks.stop()
  await rollouts.stop()
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

async function countUpgraded({ db }: Context, id: string): Promise<number> {
  const { count } = await db
    .selectFrom('upgradeTarget')
    .innerJoin('siteUpgrade', (on) =>
      on.onRef('siteUpgrade.orgId', '=', 'upgradeTarget.orgId').onRef('siteUpgrade.id', '=', 'upgradeTarget.upgradeId'),
    )
    .select((select) => select.fn.countAll<string>().as('count'))
    .where('siteUpgrade.orgUpgradeId', '=', id)
    .where('upgradeTarget.state', '=', 'upgraded')
    .executeTakeFirstOrThrow()
  return Number(count)
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000
}

function seconds(ms: number): number {
  return Math.round(ms) / 1000
}
