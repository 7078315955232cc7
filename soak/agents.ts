import { randomInt } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Figures, type OptionValues, parseCount } from '../scripts/run-measurement.ts'
import { createAgentHosts } from './support/agents/agent-hosts.ts'
import { type AgentRound, type AgentRun, upgradeMachines } from './support/agents/agent-round.ts'
import { type Machine, type MachinesParts, createMachines } from './support/agents/machines.ts'
import { countStrategies } from './support/count-strategies.ts'
import { createOrg } from './support/create-org.ts'
import { planInterruptions } from './support/interruption.ts'
import { createRandom } from './support/random.ts'
import { secondsSince } from './support/seconds-since.ts'
import { createService } from './support/service.ts'

export const options = {
  seed: { type: 'string' },
  appliances: { type: 'string' },
  routers: { type: 'string' },
  interruptions: { type: 'string' },
  upgrades: { type: 'string' },
} as const

/** Processes that run the agents. */
const HOSTS = 4
const IMAGE_BYTES = 4_000_000
/** With it, a download of all machines takes seconds. */
const SITE_KBPS = 64_000
const CONNECTED_WITHIN_MS = 120_000
const UPGRADE_WITHIN_MS = 20 * 60_000

/**
 * Upgrades edge appliances and routers whose real agents run real commands, while the server, the agents or both are
 * ended at random times. Each package must be installed once, each router must reboot once, and no machine may be left
 * behind.
 */
export async function run(values: OptionValues): Promise<Figures> {
  const startedMs = performance.now()
  const seed = parseCount(values, 'seed', randomInt(1, 2 ** 31))
  const interruptions = parseCount(values, 'interruptions', 60)
  const upgrades = parseCount(values, 'upgrades', 8)
  const plan = {
    appliances: parseCount(values, 'appliances', 20),
    routers: parseCount(values, 'routers', 12),
    commandS: 1.5,
  }
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-soak-'))
  console.log(`seed ${seed}, files in ${folder}`)
  const random = createRandom(seed)
  const service = await createService(folder, {
    SIGNALBOX_ROLLOUT_SOAK_S: '1',
    SIGNALBOX_FIRMWARE_SITE_KBPS: String(SITE_KBPS),
  })
  service.start()
  if (!(await service.ready())) throw new Error(`the server did not start; see ${service.logFile}`)
  const { client, orgId } = await createOrg(service)
  const parts = { folder, service, client, org: `/api/v1/orgs/${orgId}` }
  const machines = await createMachines(parts, plan)
  const hosts = createAgentHosts(
    folder,
    machines.map(({ agent }) => agent),
    HOSTS,
  )
  try {
    for (let host = 0; host < HOSTS; host += 1) await hosts.start(host)
    await connectMachines(parts, machines)
    const counts = { kills: Math.ceil(interruptions * 0.85), stops: Math.floor(interruptions * 0.15) }
    const agentRun: AgentRun = {
      ...{ service, client, org: parts.org, machines, hosts, random },
      imageBytes: IMAGE_BYTES,
      upgradeWithinMs: UPGRADE_WITHIN_MS,
      say: (line) => console.log(line),
      interruptions: planInterruptions(random, { ...counts, upMs: [500, 9000], downMs: [0, 3000] }),
    }
    const rounds = await runRounds(agentRun, upgrades)
    const failed = rounds.flatMap((round) => round.failed)
    if (agentRun.interruptions.length > 0)
      failed.push(`${agentRun.interruptions.length} interruptions did not take place`)
    if (failed.length === 0) await rm(folder, { recursive: true, force: true, maxRetries: 10 })
    const { appliances, routers } = plan
    return { seed, appliances, routers, ...sumUp(rounds), total_s: secondsSince(startedMs), failed }
  } finally {
    await hosts.stop()
    await service.close()
  }
}

/** How many times the planned upgrades may be carried out, if interruptions are left then. */
const MOST_TIMES = 3

async function runRounds(run: AgentRun, upgrades: number): Promise<AgentRound[]> {
  const rounds: AgentRound[] = []
  while (rounds.length < upgrades || (run.interruptions.length > 0 && rounds.length < MOST_TIMES * upgrades)) {
    const quota = Math.ceil(run.interruptions.length / Math.max(1, upgrades - rounds.length))
    const round = await upgradeMachines(run, rounds.length + 1, quota)
    console.log(`round ${rounds.length + 1}: ${JSON.stringify(round)}`)
    rounds.push(round)
    if (!round.isOver) break
  }
  return rounds
}

/** Waits until all have registered, assigns the routers to a site, and waits until all are connected. */
async function connectMachines({ client, org }: MachinesParts, machines: readonly Machine[]): Promise<void> {
  const macs = machines.flatMap(({ agent: { role, mac } }) => (role === 'ssr' ? [mac] : []))
  const site = (await client.call('POST', `${org}/sites`, { name: 'Soak' })) as { readonly id: string }
  const count = async (path: string): Promise<number> =>
    ((await client.call('GET', `${org}${path}`)) as readonly unknown[]).length
  await until('all routers have registered', async () => (await count('/inventory?limit=1000')) === macs.length)
  await client.call('PUT', `${org}/inventory`, { op: 'assign', site_id: site.id, macs })
  const isConnected = ({ status }: { readonly status?: string }): boolean => status === 'connected'
  await until('all machines are connected', async () => {
    const lists = await Promise.all(
      ['/stats/mxedges?limit=1000', '/stats/devices?type=all&limit=1000'].map((path) =>
        client.call('GET', `${org}${path}`),
      ),
    )
    const all = lists.flat() as readonly { readonly status?: string }[]
    return all.filter(isConnected).length === machines.length
  })
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const startMs = performance.now(); !(await isSo()); await delay(500))
    if (performance.now() - startMs > CONNECTED_WITHIN_MS)
      throw new Error(`after two minutes it is not so that ${what}`)
}

function sumUp(rounds: readonly AgentRound[]) {
  const strategies = rounds.flatMap((round) => round.strategies)
  const sinceRestartsS = rounds.flatMap(({ sinceRestartS }) => sinceRestartS ?? [])
  const sum = (of: (round: AgentRound) => number): number => rounds.reduce((all, round) => all + of(round), 0)
  return {
    upgrades: strategies.length,
    strategies: countStrategies(strategies),
    targets: sum(({ targets }) => targets),
    kills: sum(({ kills }) => kills),
    graceful_stops: sum(({ stops }) => stops),
    kills_of_agents: sum(({ agentKills }) => agentKills),
    installed_twice: sum(({ installedTwice }) => installedTwice),
    booted_twice: sum(({ bootedTwice }) => bootedTwice),
    left_behind: sum(({ leftBehind }) => leftBehind),
    upgrade_s: rounds.map(({ seconds }) => seconds),
    since_restarts_s: sinceRestartsS,
    since_restart_s: Math.max(0, ...sinceRestartsS),
  }
}
