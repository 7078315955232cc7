import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Figures } from '../../../scripts/run-measurement.ts'
import { type FleetProcess, createFleetProcess } from '../fleet-process.ts'
import { createClient } from '../../../src/cli/client.ts'
import { imageHeader } from '../../../src/simulator/image.ts'
import { DEVICE_NICENESS, claimDevices } from '../devices.ts'
import { cpuSeconds, cpuSecondsWithChildren } from '../process-usage.ts'
import { countSessions, openServerDatabase } from '../sessions/sent-commands.ts'
import { type Signalbox, startSignalbox } from '../signalbox.ts'
import { type Written, readWritten } from '../database-statistics.ts'
import type { ThreadsReport, WatchMessage } from './watch-threads.ts'

const OLD = '1.0.0'
const NEW = '2.0.0'
const ASSIGNED_AT_ONCE = 500
const SETTLE_MS = 5000
const POLL_MS = 250
const GIVE_UP_S = 900

/**
 * Devices that need a second for what takes real ones minutes: the server is measured. Their clients retry ten times as
 * often as real ones.
 */
const pace = { timeScale: 0.1, downloadBytesPerS: 0, bootMs: 3000, flashMs: 3000, startsPerS: 250 } as const

const watchThreads = new URL('watch-threads.ts', import.meta.url).href

export interface WireOptions {
  readonly devices: number
  readonly imageBytes: number
}

interface World {
  readonly signalbox: Signalbox
  readonly database: pg.Pool
  readonly postgresPid: number
  readonly fleet: FleetProcess
  readonly macs: readonly string[]
}

/**
 * Upgrades connected devices of one site in four canary phases over the real wire: each downloads its image by HTTP, reboots,
 * and connects again by mutual TLS. The server and the devices are processes of their own. A phase opens as soon as the
 * previous one is complete, without the time in which its devices are watched.
 */
export async function upgradeOverWire({ devices, imageBytes }: WireOptions): Promise<Figures> {
  const env = {
    SIGNALBOX_ROLLOUT_SOAK_S: '0',
    // All devices have the same address, and half of them download at the same time.
    SIGNALBOX_HTTP_CONNECTIONS_PER_NETWORK: String(2000 + 2 * devices),
  }
  const signalbox = await startSignalbox({ imports: [watchThreads], env })
  const database = await openServerDatabase(signalbox.dataDir)
  const fleet = createFleetProcess(signalbox.dataDir, signalbox, pace, DEVICE_NICENESS)
  try {
    const postgresPid = await postgresPidOf(signalbox)
    const claimed = await createFleet(signalbox, { devices, imageBytes })
    const startMs = performance.now()
    await fleet.start(claimed.map((device) => ({ ...device, firmware: OLD })))
    const world = { signalbox, database, postgresPid, fleet, macs: claimed.map(({ mac }) => mac) }
    if (!(await until(async () => (await countConnected(world)) === devices)))
      throw new Error(`after ${GIVE_UP_S} s not all devices are connected`)
    const connectMs = performance.now() - startMs
    await delay(SETTLE_MS)
    return { devices, image_kb: imageBytes / 1000, connect_s: seconds(connectMs), ...(await upgradeAll(world)) }
  } finally {
    await fleet.stop()
    await database.end()
    await signalbox.stop()
  }
}

async function upgradeAll(world: World): Promise<Figures> {
  const { signalbox, fleet, macs } = world
  const before = await usageOf(world)
  signalbox.tell('watch' satisfies WatchMessage)
  const startMs = performance.now()
  const body = { all_sites: true, version: NEW, strategy: 'canary', canary_phases: [1, 10, 50, 100] }
  const path = `/api/v1/orgs/${signalbox.orgId}/devices/upgrade`
  const { id } = (await signalbox.call('POST', path, body)) as { readonly id: string }
  const createdMs = performance.now()
  const isOver = await until(async () => (await isEnded(world, id)) && (await countConnected(world)) === macs.length)
  const endMs = performance.now()
  const { main, others, silent } = (await signalbox.ask('report' satisfies WatchMessage)) as ThreadsReport
  const after = await usageOf(world)
  const each = (part: keyof Usage): number => (after[part] - before[part]) / macs.length
  const gatewayMs = others.reduce((sum, { cpuMs }) => sum + cpuMs, 0)
  const effects = effectsOf(fleet, macs)
  const upgraded = await countUpgraded(world, id)
  return {
    create_s: seconds(createdMs - startMs),
    run_s: seconds(endMs - startMs),
    server_cpu_ms_per_device: round(each('serverMs')),
    main_thread_cpu_ms_per_device: round(main.cpuMs / macs.length),
    gateway_thread_cpu_ms_per_device: round(gatewayMs / macs.length),
    other_threads_cpu_ms_per_device: round(each('serverMs') - (main.cpuMs + gatewayMs) / macs.length),
    postgres_cpu_ms_per_device: round(each('postgresMs')),
    simulator_cpu_ms_per_device: round(each('simulatorMs')),
    wal_bytes_per_device: Math.round(each('walBytes')),
    wal_full_pages_per_device: round(each('fullPages')),
    rows_written_per_device: round(each('rows')),
    memory_mb: main.residentMb,
    event_loop_held_ms: main.heldMs,
    longest_turn_cpu_ms: main.heldCpuMs,
    gateway_event_loop_held_ms: Math.max(0, ...others.map(({ heldMs }) => heldMs)),
    gateway_longest_turn_cpu_ms: Math.max(0, ...others.map(({ heldCpuMs }) => heldCpuMs)),
    ...effects,
    left_behind: macs.length - upgraded,
    failed: [
      ...(silent === 0 && others.length > 0
        ? []
        : [`${silent} of ${silent + others.length} other threads did not report`]),
      ...(isOver ? [] : [`after ${GIVE_UP_S} s the upgrade has not ended, or not all devices are connected`]),
      ...(upgraded === macs.length ? [] : [`only ${upgraded} of ${macs.length} devices are upgraded`]),
      ...(effects.booted_twice + effects.flashed_twice === 0 ? [] : ['devices booted or flashed twice']),
    ],
  }
}

async function createFleet(signalbox: Signalbox, { devices, imageBytes }: WireOptions) {
  const { orgId, url, authorization, dataDir, call } = signalbox
  const claimed = await claimDevices(signalbox, devices)
  const site = (await call('POST', `/api/v1/orgs/${orgId}/sites`, { name: 'Bench' })) as { readonly id: string }
  for (let from = 0; from < devices; from += ASSIGNED_AT_ONCE) {
    const macs = claimed.slice(from, from + ASSIGNED_AT_ONCE).map(({ mac }) => mac)
    await call('PUT', `/api/v1/orgs/${orgId}/inventory`, { op: 'assign', site_id: site.id, macs })
  }
  const models = [...new Set(claimed.map(({ model }) => model))]
  const head = Buffer.from(imageHeader(models, NEW))
  const image = Buffer.concat([head, randomBytes(Math.max(0, imageBytes - head.length))])
  const query = new URLSearchParams({ version: NEW, models: models.join(',') })
  await createClient({ url, authorization, dataDir }).upload(
    `/api/v1/orgs/${orgId}/firmware?${query.toString()}`,
    image,
  )
  return claimed
}

interface Usage extends Written {
  readonly serverMs: number
  readonly postgresMs: number
  readonly simulatorMs: number
}

async function usageOf({ signalbox, database, postgresPid, fleet }: World): Promise<Usage> {
  return {
    serverMs: 1000 * (await cpuSeconds(signalbox.pid)),
    postgresMs: 1000 * (await cpuSecondsWithChildren(postgresPid)),
    simulatorMs: 1000 * (await cpuSeconds(fleet.pid)),
    ...(await readWritten(database)),
  }
}

async function postgresPidOf({ dataDir }: Signalbox): Promise<number> {
  const file = await readFile(join(dataDir, 'postgres', 'cluster', 'postmaster.pid'), 'utf8')
  return Number(file.split('\n', 1)[0])
}

async function countConnected({ database }: World): Promise<number> {
  return (await countSessions(database, 0)).ucentral
}

async function isEnded({ database }: World, id: string): Promise<boolean> {
  const { rows } = await database.query<{ open: number }>(
    'select count(*)::integer as open from site_upgrade where org_upgrade_id = $1 and finished_at is null',
    [id],
  )
  return rows[0]?.open === 0
}

async function countUpgraded({ database }: World, id: string): Promise<number> {
  const { rows } = await database.query<{ upgraded: number }>(
    `select count(*)::integer as upgraded from upgrade_target target
     join site_upgrade site on site.org_id = target.org_id and site.id = target.upgrade_id
     where site.org_upgrade_id = $1 and target.state = 'upgraded'`,
    [id],
  )
  return rows[0]?.upgraded ?? 0
}

/** Counts by the devices' own records, which began before the upgrade. */
function effectsOf(fleet: FleetProcess, macs: readonly string[]) {
  const journal = fleet.journal()
  const counts = macs.map((mac) => journal.get(mac)?.counts)
  return {
    reboots_per_device: round(counts.reduce((sum, count) => sum + (count?.boots ?? 0), 0) / macs.length),
    booted_twice: counts.filter((count) => count !== undefined && count.boots > 1).length,
    flashed_twice: counts.filter((count) => count !== undefined && count.flashes > 1).length,
  }
}

/** @returns False if the condition does not hold in time. */
async function until(condition: () => Promise<boolean>): Promise<boolean> {
  for (const startMs = performance.now(); performance.now() - startMs < GIVE_UP_S * 1000; await delay(POLL_MS))
    if (await condition()) return true
  return false
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000
}

function seconds(ms: number): number {
  return Math.round(ms) / 1000
}
