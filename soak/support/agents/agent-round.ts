import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '../../../src/cli/client.ts'
import type { Interruption } from '../interruption.ts'
import type { Random } from '../random.ts'
import { secondsSince } from '../seconds-since.ts'
import type { Service } from '../service.ts'
import type { AgentHosts } from './agent-hosts.ts'
import { type AgentEffects, compareNotes } from './compare-notes.ts'
import { type Machine, notesOf, versionOf } from './machines.ts'
import { listSupportFaults, requestSupport } from './support-files.ts'

/** The parts of one run. */
export interface AgentRun {
  readonly service: Service
  readonly client: Client
  /** The path of the organization. */
  readonly org: string
  readonly machines: readonly Machine[]
  readonly hosts: AgentHosts
  readonly random: Random
  readonly imageBytes: number
  readonly upgradeWithinMs: number
  readonly say: (line: string) => void
  /** The interruptions of the server that are still ahead. */
  interruptions: readonly Interruption[]
}

export interface AgentRound extends AgentEffects {
  readonly isOver: boolean
  readonly strategies: readonly string[]
  readonly targets: number
  readonly kills: number
  readonly stops: number
  readonly agentKills: number
  readonly seconds: number
  /** The time from the last interruption until all machines were upgraded; null without one. */
  readonly sinceRestartS: number | null
}

/** Requests of upgrades of edge appliances, besides their versions. */
const edgeRequests: readonly Readonly<Record<string, unknown>>[] = [
  { strategy: 'big_bang' },
  { strategy: 'serial' },
  { strategy: 'canary', canary_phases: [10, 50, 100] },
]
const routerRequests: readonly Readonly<Record<string, unknown>>[] = [{ strategy: 'big_bang' }, { strategy: 'serial' }]

/** Upgrades all appliances and all routers at the same time, and ends the server and processes of agents meanwhile. */
export async function upgradeMachines(run: AgentRun, number: number, quota: number): Promise<AgentRound> {
  const { client, org, machines, random } = run
  const versions = { edge: `${number + 1}.0.0`, ssr: `6.${number}.0` }
  await client.upload(`${org}/firmware?package=tunterm&version=${versions.edge}`, randomBytes(run.imageBytes))
  await client.upload(`${org}/firmware?models=SSR120&version=${versions.ssr}`, randomBytes(run.imageBytes))
  const before = new Map(machines.map((machine) => [machine, notesOf(machine.agent).length]))
  const startedMs = performance.now()
  const routers = machines.filter(({ agent }) => agent.role === 'ssr').map(({ id }) => id)
  const [edge = {}] = random.shuffle(edgeRequests)
  const [router = {}] = random.shuffle(routerRequests)
  const upgrades = [
    await begin(run, 'mxedges', { ...edge, versions: { tunterm: versions.edge } }),
    await begin(run, 'ssr', { ...router, version: versions.ssr, device_ids: routers }),
  ]
  const { restartedMs, ...interrupted } = await interrupt(run, upgrades, quota)
  const isOver = await untilOver(run, upgrades, startedMs + run.upgradeWithinMs)
  const ended = performance.now()
  const effects = compareNotes(
    machines.map((machine) => ({
      name: machine.agent.folder,
      role: machine.agent.role,
      lines: notesOf(machine.agent).slice(before.get(machine)),
      version: versionOf(machine.agent),
    })),
    versions,
  )
  return {
    ...effects,
    ...interrupted,
    isOver,
    strategies: [String(edge['strategy']), String(router['strategy'])],
    targets: machines.length,
    seconds: secondsSince(startedMs),
    sinceRestartS: restartedMs === null ? null : Math.round((ended - restartedMs) / 100) / 10,
    failed: [
      ...(isOver ? [] : ['not all upgrades have ended in time']),
      ...(await Promise.all(upgrades.map((path) => listUnfinished(run, path)))).flat(),
      ...(await listSupportFaults(
        run,
        machines.filter(({ agent }) => agent.role === 'edge'),
      )),
      ...run.hosts.listEnded(),
      ...effects.failed,
    ].map((sentence) => `round ${number}: ${sentence}`),
  }
}

/** @returns The path of the upgrade. */
async function begin({ client, org }: AgentRun, kind: 'mxedges' | 'ssr', body: object): Promise<string> {
  const { id } = (await client.call('POST', `${org}/${kind}/upgrade`, body)) as { readonly id: string }
  return `${org}/${kind}/upgrade/${id}`
}

/** A share of the interruptions concerns a process of agents instead of the server, or both together. */
const AGENTS_SHARE = 0.3
const BOTH_SHARE = 0.15

async function interrupt(run: AgentRun, upgrades: readonly string[], quota: number) {
  const { service, machines, hosts, random, say } = run
  const done = { kills: 0, stops: 0, agentKills: 0, restartedMs: null as number | null }
  const due = run.interruptions.slice(0, quota)
  let taken = 0
  for (const { signal, comes, downMs } of due) {
    await delay('afterMs' in comes ? comes.afterMs : 0)
    if (await areOver(run, upgrades)) break
    const share = random.between(0, 1)
    const host = Math.floor(random.between(0, hosts.count))
    const [appliance] = random.shuffle(machines.filter(({ agent }) => agent.role === 'edge'))
    if (appliance !== undefined) await requestSupport(run, appliance)
    const isOfAgents = share < AGENTS_SHARE + BOTH_SHARE
    const isOfServer = share >= AGENTS_SHARE
    if (isOfAgents) {
      await hosts.kill(host)
      done.agentKills += 1
    }
    if (isOfServer) {
      await service.end(signal)
      done[signal === 'SIGINT' ? 'stops' : 'kills'] += 1
    }
    say(`${isOfServer ? signal : ''} ${isOfAgents ? `agents of process ${host}` : ''} at ${JSON.stringify(comes)}`)
    await delay(downMs)
    if (isOfServer) service.start()
    if (isOfAgents) await hosts.start(host)
    done.restartedMs = performance.now()
    taken += 1
  }
  run.interruptions = run.interruptions.slice(taken)
  if (!(await service.ready())) throw new Error(`the server did not start again; see ${service.logFile}`)
  return done
}

const POLL_MS = 500
const endStates = new Set(['completed', 'failed', 'cancelled'])

async function untilOver(run: AgentRun, upgrades: readonly string[], deadlineMs: number): Promise<boolean> {
  while (performance.now() < deadlineMs) {
    if (await areOver(run, upgrades)) return true
    await delay(POLL_MS)
  }
  return false
}

/** Returns false while the server does not answer. */
async function areOver({ client }: AgentRun, upgrades: readonly string[]): Promise<boolean> {
  try {
    for (const path of upgrades) {
      const { status } = (await client.call('GET', path)) as { readonly status: string }
      if (!endStates.has(status)) return false
    }
    return true
  } catch {
    return false // The server is starting.
  }
}

/** Of appliances, and of routers. */
const upgradedStates = new Set(['success', 'upgraded'])

interface Target {
  readonly mxedge_id?: string
  readonly mac?: string
  readonly status: string
  readonly reason?: string
}

/** Returns a sentence for the upgrade, and for each of its machines, that has not succeeded. */
async function listUnfinished({ client }: AgentRun, path: string): Promise<string[]> {
  const { status } = (await client.call('GET', path)) as { readonly status: string }
  const targets = (await client.call('GET', `${path}/targets?limit=1000`)) as readonly Target[]
  return [
    ...(status === 'completed' ? [] : [`${path} is ${status}`]),
    ...targets
      .filter((target) => !upgradedStates.has(target.status))
      .map((target) => `${target.mxedge_id ?? target.mac} is ${target.status} (${target.reason ?? 'no reason'})`),
  ]
}
