import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { type Figures, type OptionValues, parseCount } from '../scripts/run-measurement.ts'
import { deviceIdOf } from '../src/devices/device.ts'
import { registerAgents } from './support/sessions/agents.ts'
import { type Child, startChild } from './support/child.ts'
import { type BenchDevice, claimDevices, enroll } from './support/devices.ts'
import { residentKb } from './support/process-usage.ts'
import {
  type CommandRow,
  type SessionKind,
  claimsOf,
  countSessions,
  figuresOf,
  listCommands,
  openServerDatabase,
  serverWaitsOf,
  waitsOf,
} from './support/sessions/sent-commands.ts'
import { ANSWER_MS, type Arrival, type ClientsData } from './support/sessions/session-data.ts'
import { type LogLine, type Signalbox, startSignalbox } from './support/signalbox.ts'

export const options = {
  agents: { type: 'string' },
  junos: { type: 'string' },
  ucentral: { type: 'string' },
} as const

const DEFAULT_COUNT = 2000
const SETTLE_S = 20
const CONNECTED_WITHIN_S = 300
const BACK_WITHIN_S = 240
const ENDED_WITHIN_S = 180
/** The number of commands of each kind for the measurement of waits. */
const SAMPLE = 900
const COMMANDS_PER_S = 40
const COMMANDS_BEFORE_KILL = 240
const COMMANDS_PER_S_BEFORE_KILL = 80

const kinds = ['ucentral', 'agents', 'junos'] as const satisfies readonly SessionKind[]
const program = fileURLToPath(new URL('support/sessions/session-clients.ts', import.meta.url))

/**
 * Connects agents of edge appliances, Junos devices and access points to one server. Measures the memory of a session
 * of each kind; the wait of a command from its creation, shortly before its commit, until its claim, until the gateway
 * has given it to its connection, which is the server's share, and until it arrives at the device; and after `kill -9`
 * how soon all are connected again, and whether commands are lost or executed twice.
 */
export async function run(values: OptionValues): Promise<Figures> {
  /** When the gateway gave commands to their connections, by the id of their row. */
  const givenMs = new Map<string, number>()
  const signalbox = await startSignalbox({ netconf: true, onLog: (line) => noteSent(givenMs, line) })
  const database = await openServerDatabase(signalbox.dataDir)
  const clients = new Map<SessionKind, Child>()
  try {
    const world: World = { signalbox, database, clients, fleet: await createFleet(signalbox, values) }
    const memory = await connectAll(world)
    await sendCommands(signalbox, interleave(targetsOf(world).map((paths) => paths.slice(0, SAMPLE))), COMMANDS_PER_S)
    await untilEnded(database)
    const quiet = await listCommands(database)
    const { failed, ...afterKill } = await killAmidCommands(world)
    await untilEnded(database)
    const all = await listCommands(database)
    const arrivals = await arrivalsOf(clients)
    const commands = byKind((kind) => figuresOf(ofKind(all, kind), arrivals[kind]))
    return {
      sessions: byKind((kind) => world.fleet[kind].targets.length),
      memory,
      claimed_ms: byKind((kind) => percentiles(claimsOf(ofKind(quiet, kind)))),
      server_ms: byKind((kind) => percentiles(serverWaitsOf(ofKind(quiet, kind), givenMs))),
      wire_ms: byKind((kind) => percentiles(waitsOf(ofKind(quiet, kind), arrivals[kind]))),
      after_kill: afterKill,
      commands,
      failed: [
        ...failed,
        ...kinds
          .filter((kind) => commands[kind].lost + commands[kind].doubled > 0)
          .map((kind) => `commands of ${kind} were lost or executed twice`),
      ],
    }
  } finally {
    for (const child of clients.values()) await child.stop()
    await database.end()
    await signalbox.stop()
  }
}

const WARN = 40

function noteSent(givenMs: Map<string, number>, line: LogLine): void {
  if (line.msg === 'sent a command') givenMs.set(String(line['commandId']), Date.parse(line.time))
  else if (line.level >= WARN) process.stderr.write(`${JSON.stringify(line)}\n`)
}

interface World {
  readonly signalbox: Signalbox
  readonly database: pg.Pool
  readonly clients: Map<SessionKind, Child>
  readonly fleet: Fleet
}

function byKind<T>(valueOf: (kind: SessionKind) => T): Readonly<Record<SessionKind, T>> {
  return { ucentral: valueOf('ucentral'), agents: valueOf('agents'), junos: valueOf('junos') }
}

function targetsOf({ fleet }: World): (readonly string[])[] {
  return kinds.map((kind) => fleet[kind].targets)
}

/** Connects one kind after the other. @returns The resident memory of the server for each session. */
async function connectAll(world: World): Promise<Figures> {
  const { signalbox, clients, fleet } = world
  let residentBefore = await settledKb(signalbox)
  const memory: Record<string, number> = { idle_mb: Math.round(residentBefore / 1024) }
  for (const kind of kinds) {
    clients.set(kind, await startClients(signalbox, fleet[kind].data))
    const counts = { ...byKind(() => 0), [kind]: fleet[kind].targets.length }
    const { missing } = await untilConnected(world, counts, { sinceMs: 0, withinS: CONNECTED_WITHIN_S })
    if (missing.length > 0) throw new Error(`after ${CONNECTED_WITHIN_S} s not all devices of ${kind} are connected`)
    const resident = await settledKb(signalbox)
    memory[`per_session_of_${kind}_kb`] = Math.round((resident - residentBefore) / fleet[kind].targets.length)
    residentBefore = resident
  }
  return memory
}

interface Kind {
  readonly data: ClientsData
  /** The paths to which to post a command, one for each device. */
  readonly targets: readonly string[]
}

type Fleet = Readonly<Record<SessionKind, Kind>>

async function createFleet(signalbox: Signalbox, values: OptionValues): Promise<Fleet> {
  const count = (kind: SessionKind): number => parseCount(values, kind, DEFAULT_COUNT)
  const { orgId, call, ucentralPort, edgePort, netconfPort } = signalbox
  const accessPoints = await claimDevices(signalbox, count('ucentral'))
  const switches = await claimDevices(signalbox, count('junos'), 'switch')
  const site = (await call('POST', `/api/v1/orgs/${orgId}/sites`, { name: 'Bench' })) as { readonly id: string }
  const macs = [...accessPoints, ...switches].map(({ mac }) => mac)
  for (let from = 0; from < macs.length; from += 500)
    await call('PUT', `/api/v1/orgs/${orgId}/inventory`, {
      op: 'assign',
      site_id: site.id,
      macs: macs.slice(from, from + 500),
    })
  const agents = await registerAgents(signalbox, count('agents'))
  const secretPath = `/api/v1/orgs/${orgId}/ocdevices/outbound_ssh_cmd`
  const [, secret = ''] = / secret (\S+)/.exec(((await call('GET', secretPath)) as { readonly cmd: string }).cmd) ?? []
  const pathOf =
    (operation: string) =>
    ({ mac }: BenchDevice) =>
      `/api/v1/sites/${site.id}/devices/${deviceIdOf(mac)}/${operation}`
  return {
    ucentral: {
      data: { kind: 'ucentral', port: ucentralPort, ...(await enroll(signalbox, accessPoints)) },
      targets: accessPoints.map(pathOf('locate')),
    },
    agents: {
      data: { kind: 'agents', port: edgePort, devices: agents },
      targets: agents.map(({ id }) => `/api/v1/orgs/${orgId}/mxedges/${id}/services/tunterm/restart`),
    },
    junos: {
      data: { kind: 'junos', port: netconfPort ?? 0, orgId, secret, devices: switches },
      targets: switches.map(pathOf('snapshot')),
    },
  }
}

async function startClients({ dataDir }: Signalbox, data: ClientsData): Promise<Child> {
  const file = join(dataDir, `bench-${data.kind}.json`)
  await writeFile(file, JSON.stringify(data))
  return startChild({ args: [program, file], ready: /^clients ready/ })
}

async function arrivalsOf(clients: ReadonlyMap<SessionKind, Child>): Promise<Record<SessionKind, Arrival[]>> {
  const arrivals: Record<SessionKind, Arrival[]> = { ucentral: [], agents: [], junos: [] }
  for (const [kind, child] of clients) {
    const answer = child.nextMessage()
    child.send('report')
    arrivals[kind] = (await answer) as Arrival[]
  }
  return arrivals
}

async function settledKb({ pid }: Signalbox): Promise<number> {
  await delay(SETTLE_S * 1000)
  return residentKb(pid)
}

interface Connected {
  /** When each kind had its sessions, in seconds since the call. */
  readonly seconds: Partial<Record<SessionKind, number>>
  /** The kinds that did not have them in time. */
  readonly missing: readonly SessionKind[]
}

async function untilConnected(
  { database, clients }: World,
  counts: Readonly<Record<SessionKind, number>>,
  { sinceMs, withinS }: { readonly sinceMs: number; readonly withinS: number },
): Promise<Connected> {
  const startMs = performance.now()
  const seconds: Partial<Record<SessionKind, number>> = {}
  for (;;) {
    const connected = await countSessions(database, sinceMs)
    const passedS = Math.round((performance.now() - startMs) / 100) / 10
    const missing = kinds.filter((kind) => connected[kind] < counts[kind])
    for (const kind of kinds) if (!missing.includes(kind)) seconds[kind] ??= passedS
    if (missing.length === 0 || passedS > withinS) return { seconds, missing }
    if ([...clients.values()].some((child) => !child.isRunning())) throw new Error('a process of devices has ended')
    await delay(200)
  }
}

async function untilEnded(database: pg.Pool): Promise<void> {
  for (const startMs = performance.now(); performance.now() - startMs < ENDED_WITHIN_S * 1000; await delay(500)) {
    const commands = await listCommands(database)
    if (commands.every(({ state }) => state !== 'queued' && state !== 'sent')) return
  }
}

/** Posts at a fixed rate. Refusals are not counted: only the created commands matter. */
async function sendCommands({ call }: Signalbox, paths: readonly string[], perS: number): Promise<void> {
  const startMs = performance.now()
  const calls: Promise<unknown>[] = []
  for (const [index, path] of paths.entries()) {
    const aheadMs = (1000 * index) / perS - (performance.now() - startMs)
    if (aheadMs > 0) await delay(aheadMs)
    calls.push(call('POST', path, {}).catch(() => null))
  }
  await Promise.all(calls)
}

async function killAmidCommands(world: World): Promise<Figures & { readonly failed: readonly string[] }> {
  const { signalbox, fleet } = world
  const paths = interleave(targetsOf(world).map((targets) => targets.toReversed())).slice(0, COMMANDS_BEFORE_KILL)
  const sending = sendCommands(signalbox, paths, COMMANDS_PER_S_BEFORE_KILL)
  // The last commands are unanswered or on their way.
  await delay((1000 * paths.length) / COMMANDS_PER_S_BEFORE_KILL - ANSWER_MS / 2)
  const sinceMs = Date.now()
  const counts = byKind((kind) => fleet[kind].targets.length)
  const [{ seconds, missing }, readyS] = await Promise.all([
    untilConnected(world, counts, { sinceMs, withinS: BACK_WITHIN_S }),
    signalbox.crash().then(() => (Date.now() - sinceMs) / 1000),
    sending,
  ])
  return {
    ready_s: Math.round(10 * readyS) / 10,
    back_s: seconds,
    failed: missing.map((kind) => `after ${BACK_WITHIN_S} s not all devices of ${kind} are connected again`),
  }
}

function ofKind(commands: readonly CommandRow[], kind: SessionKind): CommandRow[] {
  return commands.filter((command) => command.kind === kind)
}

function interleave(lists: readonly (readonly string[])[]): string[] {
  const longest = Math.max(...lists.map(({ length }) => length))
  return Array.from({ length: longest }, (_, index) => lists.flatMap((list) => list[index] ?? [])).flat()
}

function percentiles(sorted: readonly number[]): Figures {
  const at = (share: number): number => Math.round(10 * (sorted[Math.floor(sorted.length * share)] ?? 0)) / 10
  return { measured: sorted.length, p50: at(0.5), p99: at(0.99) }
}
