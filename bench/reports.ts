import { randomBytes } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import type pg from 'pg'
import { type Figures, type OptionValues, parseCount } from '../scripts/run-measurement.ts'
import { type OpenContext, openContext } from '../src/app/open-context.ts'
import { recordConnects } from '../src/devices/sessions/record-connect.ts'
import { recordNodeStarted } from '../src/devices/sessions/record-node.ts'
import type { OpenedSession } from '../src/devices/sessions/store.ts'
import { type SessionReport, recordUnlockedReports } from '../src/devices/stats/record-report.ts'
import { prepareSeries } from '../src/devices/telemetry/tasks.ts'
import { decodeState } from '../src/gateway/ucentral/state/decode-state.ts'
import { defaultLimits } from '../src/gateway/limits.ts'
import type { Context } from '../src/platform/context.ts'
import { createSecrets } from '../src/platform/secrets.ts'
import { newDevice } from '../src/simulator/ucentral/device.ts'
import { realPace, timingOf } from '../src/simulator/pace.ts'
import { stateParams } from '../src/simulator/ucentral/telemetry.ts'
import { stockCapabilities } from '../test/support/fleets/devices.ts'
import { seedOrg } from '../test/support/fleets/fleet.ts'
import { withDatabase } from './support/database.ts'
import { cpuSeconds } from './support/process-usage.ts'

export const options = { devices: { type: 'string' }, rounds: { type: 'string' } } as const

const DEFAULT_DEVICES = 2000
/** Two buckets of ten minutes. */
const DEFAULT_ROUNDS = 20
const MINUTE_MS = 60_000

/**
 * Measures the cost of one report of an access point for the server and the database: the state is parsed, decoded and
 * recorded in batches, as by the gateway. Measured with a complete report, and with only its load and uptime.
 */
export async function run(values: OptionValues): Promise<Figures> {
  const devices = parseCount(values, 'devices', DEFAULT_DEVICES)
  const rounds = parseCount(values, 'rounds', DEFAULT_ROUNDS)
  let nowMs = Date.now()
  return withDatabase('warn', async (database) => {
    const secrets = createSecrets(randomBytes(32))
    const clock = { now: () => new Date(nowMs) }
    const context = await openContext({ ...database, secrets, clock })
    context.listen()
    await prepareSeries(context.ctx)
    const fleet = await connectAll(context.ctx, devices)
    const work: Work = { context, fleet, rounds, advance: () => (nowMs += MINUTE_MS) }
    // The first reports insert rows, which happens once in the life of a device.
    await measure({ ...work, rounds: 1 }, true)
    const loadOnly = await measure(work, false)
    const everything = await measure(work, true)
    const bytes = await sizesOf(context.pool)
    await context.close()
    return { devices, rounds, load_only: loadOnly, everything, ...bytes }
  })
}

interface ConnectedDevice {
  readonly mac: string
  readonly session: OpenedSession
}

async function connectAll(ctx: Context, count: number): Promise<readonly ConnectedDevice[]> {
  const org = await seedOrg(ctx, [{ devices: count }])
  const nodeId = org.scope.orgId
  await recordNodeStarted(ctx, nodeId)
  const devices = org.sites.flatMap((site) => site.devices)
  const facts = { firmware: '1.0', model: 'EAP104', type: 'ap', capabilities: stockCapabilities('ap') } as const
  const openings = devices.map(({ mac }) => ({
    mac,
    family: 'ucentral',
    facts: { ...facts, members: null, reason: null, ext_ip: null },
  }))
  const sessions = new Map<string, OpenedSession>()
  for (let at = 0; at < openings.length; at += 500)
    for (const session of (await recordConnects(ctx, nodeId, openings.slice(at, at + 500))).opened)
      sessions.set(session.deviceId, session)
  return devices.flatMap(({ id, mac }) => {
    const session = sessions.get(id)
    return session === undefined ? [] : [{ mac, session }]
  })
}

interface Work {
  readonly context: OpenContext
  readonly fleet: readonly ConnectedDevice[]
  readonly rounds: number
  readonly advance: () => number
}

async function measure(
  { context: { ctx, pool }, fleet, rounds, advance }: Work,
  withTelemetry: boolean,
): Promise<Figures> {
  const states = fleet.map(({ mac }) => stateOf(mac))
  const before = await readUse(pool)
  const own = process.cpuUsage()
  let messagesUs = 0
  for (let round = 0; round < rounds; round += 1) {
    const nowMs = advance()
    const making = process.cpuUsage()
    const messages = states.map((state) => state(nowMs))
    const made = process.cpuUsage(making)
    messagesUs += made.user + made.system
    for (let at = 0; at < fleet.length; at += defaultLimits.batchSize) {
      const some = fleet.slice(at, at + defaultLimits.batchSize)
      const reports = some.map(({ session }, index) => reportOf(session, messages[at + index] ?? '', withTelemetry))
      await recordUnlockedReports(ctx, reports, false)
    }
  }
  const used = process.cpuUsage(own)
  const after = await readUse(pool)
  const reports = rounds * fleet.length
  return {
    server_us_per_report: Math.round((used.user + used.system - messagesUs) / reports),
    database_us_per_report: Math.round(((after.cpuS - before.cpuS) * 1e6) / reports),
    wal_bytes_per_report: Math.round((after.walBytes - before.walBytes) / reports),
  }
}

/** Returns a function that makes the message of the device at a time, as text. */
function stateOf(mac: string): (nowMs: number) => string {
  const timing = timingOf(realPace, new Set())
  const traits = { members: [], cluster: false, methods: [], faults: new Set<never>(), timing }
  const profile = { ...traits, mac, serial: mac, model: 'EAP104', type: 'ap' } as const
  const device = newDevice(profile, '1.0', Date.now() - 24 * 60 * MINUTE_MS)
  return (nowMs) => JSON.stringify(stateParams(profile, device, nowMs)['state'])
}

function reportOf({ deviceId, epoch }: OpenedSession, message: string, withTelemetry: boolean): SessionReport {
  const telemetry = decodeState(JSON.parse(message))
  const { uptime_s: uptimeS = null, cpu_percent, memory_total, memory_free } = telemetry.unit
  const load = { cpu_percent, memory_total, memory_free }
  return { deviceId, epoch, load, uptimeS, boot: null, firmware: null, telemetry: withTelemetry ? telemetry : null }
}

interface Use {
  readonly walBytes: number
  /** The processor time of all processes of the database. */
  readonly cpuS: number
}

async function readUse(pool: pg.Pool): Promise<Use> {
  const { rows } = await pool.query<{ wal: string; pid: number }>(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as wal, pg_backend_pid() as pid`,
  )
  const parent = await parentOf(rows[0]?.pid ?? 0)
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const family = await Promise.all(
    processes.map(async (pid) =>
      (await parentOf(pid)) === parent || pid === parent ? cpuSeconds(pid).catch(() => 0) : 0,
    ),
  )
  return { walBytes: Number(rows[0]?.wal), cpuS: family.reduce((sum, seconds) => sum + seconds, 0) }
}

/** Zero for a process that has ended. */
async function parentOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 0)
}

async function sizesOf(pool: pg.Pool): Promise<Figures> {
  const { rows } = await pool.query<{ report: number; clients: number; json: number; hot: number; method: string }>(`
    select avg(pg_column_size(report))::int as report, avg(pg_column_size(clients))::int as clients,
      avg(length(report::text) + length(clients::text))::int as json,
      (select round(100.0 * n_tup_hot_upd / nullif(n_tup_upd, 0))::int from pg_stat_user_tables
       where relname = 'device_report') as hot,
      max(pg_column_compression(report)) as method
    from device_report`)
  const { report, clients, json, hot, method } = rows[0] ?? {}
  return {
    json_bytes: json,
    stored_bytes: Number(report) + Number(clients),
    compression: method,
    hot_updates_percent: hot,
  }
}
