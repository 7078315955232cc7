// The agent is killed at each of its points, with commands of an operator that really run, and starts again.
import { createHash, randomBytes } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { bundleAgent } from '../../../scripts/bundle-agent.ts'
import { points } from '../../../src/agent/points.ts'
import { deviceIdOf } from '../../../src/devices/device.ts'
import type { Poller } from '../../../src/platform/time/poller.ts'
import { defaultRolloutOptions } from '../../../src/rollout/rollout.ts'
import { startRollouts } from '../../../src/rollout/worker.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { addSite } from '../../support/fleets/devices.ts'
import { addMxedge } from '../../support/fleets/mxedges.ts'
import { afterFile } from '../../support/after-file.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type Ended, type Machine, type Scenario, type Trial, runTrials } from './kill-trials.ts'
import { type AgentSettings, KillableAgent, createMachine } from './killable-agent.ts'
import { order, upgradeOf, uploadPackage } from '../upgrades/packages.ts'
import { assignRouter, codeOf, newRouterMac } from '../routers.ts'
import { untilConnected } from '../start-agent.ts'
import { uploadImage } from '../start-router.ts'
import { type EdgeWorld, eventTypes, startEdgeWorld } from '../world.ts'

/** All agents run at the same time. */
const WITHIN_MS = 120_000

const TICK_MS = 50

let world: EdgeWorld
let engine: Poller
let folder: string
let program: string
let trials: readonly Trial[]

beforeAll(async () => {
  folder = await temporaryDir(afterFile)
  program = join(folder, 'agent.mjs')
  world = await startEdgeWorld()
  afterFile(() => world.close())
  // An agent that connects more often than its allowance permits would wait for it.
  const clock = setInterval(() => world.advance(4 * TICK_MS), TICK_MS)
  afterFile(() => clearInterval(clock))
  engine = startRollouts(world.ctx, { ...defaultRolloutOptions, soakMs: 0, retryMs: 5 })
  afterFile(() => engine.stop())
  await bundleAgent(fileURLToPath(new URL('killed-agent.ts', import.meta.url)), program)
  trials = (await Promise.all(scenarios.map(runTrials))).flat()
}, 5 * WITHIN_MS)

test.each(points)('after a kill at "%s" each command ends once, and its hooks never overlap', (point) => {
  const killed = trials.filter(({ kills }) => kills.some(([at]) => at === point))
  expect(killed.length, 'trials that reach the point').toBeGreaterThan(0)
  expect(killed.filter(({ problems }) => problems.length > 0)).toEqual([])
})

test('without a kill each command runs once', () => {
  const undisturbed = trials.filter(({ kills }) => kills.length === 0)
  expect(undisturbed.map(({ scenario }) => scenario)).toEqual(scenarios.map(({ name }) => name))
  expect(undisturbed.filter(({ problems }) => problems.length > 0)).toEqual([])
})

let machines = 0

async function newAgent(
  settings: Pick<AgentSettings, 'role' | 'code' | 'mac'>,
  version: string,
): Promise<KillableAgent> {
  const place = join(folder, String((machines += 1)))
  const machine = join(place, 'machine')
  await createMachine(machine, version)
  return new KillableAgent(program, { ...settings, folder: join(place, 'agent'), machine, url: world.url })
}

async function registerableAppliance(): Promise<Machine> {
  const { id, magic } = await addMxedge(world)
  return { id, agent: await newAgent({ role: 'edge', code: magic, mac: '' }, '1.0.0') }
}

async function newAppliance(): Promise<Machine> {
  const appliance = await registerableAppliance()
  appliance.agent.start(null)
  await untilConnected(world, appliance.id)
  return appliance
}

const mxedgePath = (id: string) => `/orgs/${world.org.orgId}/mxedges/${id}`

/** Waits for the newest command. @param end The type of the event that reports its end. */
function untilEnded(id: string, end: string, former: number): Promise<Ended> {
  return waitUntil(
    `a command that ends with ${end}`,
    async () => {
      const [command] = (await world.call('GET', `${mxedgePath(id)}/commands?limit=1`)).body
      if (command === undefined || ['queued', 'sent', 'unknown'].includes(command.status)) return null
      return { status: command.status, events: (await countEvents(id, end)) - former }
    },
    WITHIN_MS,
  )
}

const countEvents = async (id: string, type: string): Promise<number> =>
  (await eventTypes(world, id)).filter((each) => each === type).length

/** Lists further problems once the command has ended. */
type Check = () => Promise<string[]>
/** Orders the command. */
type Ask = (machine: Machine, trial: number) => Promise<Check | null>

/** Lists the faults of the only support file that must exist, and deletes it. */
async function takeSupportFile(path: string, { agent }: Machine): Promise<string[]> {
  const [file, ...others] = (await world.call('GET', path)).body
  if (file === undefined || others.length > 0) return [`${others.length} more support files than one`]
  const content = Buffer.from(await (await fetch(file.url)).arrayBuffer())
  await world.call('DELETE', `${path}/${file.id}`)
  const archive = await readFile(join(agent.settings.machine, 'archive'))
  return content.equals(archive) ? [] : ['the support file is not what was collected']
}

function applianceScenario(
  name: string,
  { end, ask, ...hooks }: Pick<Scenario, 'once' | 'repeated'> & { readonly end: string; readonly ask: Ask },
): Scenario {
  return {
    name,
    ...hooks,
    newMachine: newAppliance,
    async order(machine, trial) {
      const former = await countEvents(machine.id, end)
      const check = await ask(machine, trial)
      return async () => {
        const ended = await untilEnded(machine.id, end, former)
        return check === null ? ended : { ...ended, problems: await check() }
      }
    },
  }
}

const post = async (path: string, body?: object): Promise<AnyJson> => {
  const answer = await world.call('POST', path, body === undefined ? {} : { body })
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
  return answer.body
}

async function request(path: string, body?: object): Promise<null> {
  await post(path, body)
  return null
}

/** Puts the router into a site once it has registered. */
async function placeOf({ agent: { settings } }: Machine): Promise<{ readonly siteId: string; readonly mac: string }> {
  const { mac } = settings
  const device = await waitUntil(
    'the router has registered',
    async () => (await world.call('GET', `/orgs/${world.org.orgId}/inventory?mac=${mac}`)).body[0] ?? null,
    WITHIN_MS,
  )
  if (device.site_id != null) return { siteId: device.site_id, mac }
  const siteId = await addSite(world)
  await assignRouter(world, { siteId, mac })
  return { siteId, mac }
}

async function newRouter(): Promise<Machine> {
  const mac = newRouterMac()
  const agent = await newAgent({ role: 'ssr', code: await codeOf(world), mac }, '6.1.0')
  agent.start(null)
  await placeOf({ id: deviceIdOf(mac), agent })
  return { id: deviceIdOf(mac), agent }
}

async function untilRouterIsDone(path: string): Promise<Ended> {
  return waitUntil(
    'the command of a router has ended',
    async () => {
      const [command] = (await world.call('GET', `${path}/commands`)).body
      if (command === undefined || ['queued', 'sent', 'unknown'].includes(command.status)) return null
      return { status: command.status, events: 1 }
    },
    WITHIN_MS,
  )
}

const routerScenario = (
  name: string,
  { what, body, ...hooks }: Pick<Scenario, 'once' | 'repeated'> & { readonly what: string; readonly body: object },
): Scenario => ({
  name,
  ...hooks,
  newMachine: newRouter,
  async order(machine) {
    const { siteId } = await placeOf(machine)
    const path = `/sites/${siteId}/devices/${machine.id}`
    await post(`${path}/${what}`, body)
    return async () => {
      const ended = await untilRouterIsDone(path)
      return what === 'support' ? { ...ended, problems: await takeSupportFile(`${path}/support`, machine) } : ended
    }
  },
})

const scenarios: readonly Scenario[] = [
  {
    name: 'an appliance registers',
    once: [],
    repeated: ['configure'],
    newMachine: registerableAppliance,
    registers: true,
    order:
      async ({ id }) =>
      async () => {
        const { status } = await untilEnded(id, 'ME_CONFIGURED', 0)
        return { status, events: await countEvents(id, 'ME_REGISTERED') }
      },
  },
  applianceScenario('a service is restarted', {
    once: [],
    repeated: ['restart'],
    end: 'ME_SERVICE_RESTARTED',
    ask: ({ id }) => request(`${mxedgePath(id)}/services/tunterm/restart`),
  }),
  applianceScenario('a port is bounced', {
    once: [],
    repeated: ['down', 'up'],
    end: 'ME_PORTS_BOUNCED',
    ask: ({ id }) => request(`${mxedgePath(id)}/services/tunterm/bounce_port`, { ports: ['0'], hold_time: 0 }),
  }),
  applianceScenario('a service is upgraded', {
    once: ['install'],
    repeated: [],
    end: 'ME_PACKAGE_UPDATED',
    async ask({ id, agent }, trial) {
      const bytes = randomBytes(400_000)
      const image = await uploadPackage(world, `2.0.${trial}`, { bytes })
      await order(world, id, upgradeOf(image))
      return async () => {
        const installed = await readFile(join(agent.settings.machine, 'package'), 'utf8')
        const sha256 = createHash('sha256').update(bytes).digest('hex')
        const left = await readdir(join(agent.settings.folder, 'artifacts')).catch(() => [])
        return [
          ...(installed.trim() === sha256 ? [] : ['another package was installed']),
          ...left.map((name) => `${name} was left behind`),
        ]
      }
    },
  }),
  applianceScenario('a distribution is upgraded', {
    once: ['distro'],
    repeated: [],
    end: 'ME_DISTRO_UPGRADED',
    async ask({ id }, trial) {
      await order(world, id, {
        kind: 'upgrade_distro',
        params: { codename: `release-${trial + 1}`, from: `release-${trial}` },
      })
      return null
    },
  }),
  applianceScenario('support files are uploaded', {
    once: [],
    repeated: ['support'],
    end: 'ME_SUPPORT_FILES_UPLOADED',
    async ask(machine) {
      const path = `${mxedgePath(machine.id)}/support`
      await post(path)
      return () => takeSupportFile(path, machine)
    },
  }),
  routerScenario('a router is restarted', { once: ['reboot'], repeated: [], what: 'restart', body: {} }),
  routerScenario('a node is restarted', { once: ['node'], repeated: [], what: 'restart', body: { node: 'node1' } }),
  routerScenario('support files of a router are uploaded', {
    once: [],
    repeated: ['support'],
    what: 'support',
    body: {},
  }),
  {
    name: 'a router is upgraded',
    once: ['reboot'],
    // Only a reboot shows which image is installed.
    repeated: ['install'],
    newMachine: newRouter,
    async order(machine, trial) {
      const version = `6.2.${trial}`
      await uploadImage(world, version)
      const path = `/orgs/${world.org.orgId}/ssr/upgrade`
      const { id } = await post(path, { device_ids: [machine.id], version })
      return async () => {
        const { status } = await waitUntil(
          'the upgrade has ended',
          async () => {
            engine.wake()
            const upgrade = (await world.call('GET', `${path}/${id}`)).body
            return ['completed', 'failed', 'cancelled'].includes(upgrade.status) ? upgrade : null
          },
          WITHIN_MS,
        )
        return { status: status === 'completed' ? 'done' : status, events: 1 }
      }
    },
  },
]
