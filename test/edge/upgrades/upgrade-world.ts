import { onTestFinished } from 'vitest'
import { type Faults, dryRunAppliance } from '../../../src/agent/dry-run.ts'
import { defaultMxedgeUpgradeOptions } from '../../../src/mxedges/upgrades/options.ts'
import type { MxedgeUpgradeOptions } from '../../../src/mxedges/upgrades/target.ts'
import { inFlightStates } from '../../../src/mxedges/upgrades/upgrade.ts'
import { advanceMxedgeUpgrades, startMxedgeUpgrades } from '../../../src/mxedges/upgrades/worker.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { type TestOrg, type TestServer } from '../../support/servers/server.ts'
import { systemScope } from '../../../src/access/scope.ts'
import { anyOf, inTx, json } from '../../../src/platform/database/db.ts'
import type { MxedgeReport } from '../../../src/mxedges/sessions/facts.ts'
import { openSession } from '../../../src/mxedges/sessions/store.ts'
import { addMxedge } from '../../support/fleets/mxedges.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type StartedAgent, startAgent, untilConnected } from '../start-agent.ts'
import { type AgentPeer, type Credentials, type EdgeWorld, hello, openAgent, register, report } from '../world.ts'

/** By itself the worker looks once a second for appliances that change without a wake, and they do so at every step. */
const ROUND_MS = 100

/** Runs the worker until the test ends; `stop` ends it earlier. */
export function runUpgrades(world: EdgeWorld, options: Partial<MxedgeUpgradeOptions> = {}): { stop(): Promise<void> } {
  const poller = startMxedgeUpgrades(world.ctx, { ...defaultMxedgeUpgradeOptions, soakMs: 0, ...options })
  const rounds = setInterval(() => poller.wake(), ROUND_MS)
  const stop = async (): Promise<void> => {
    clearInterval(rounds)
    await poller.stop()
  }
  onTestFinished(stop)
  return { stop }
}

/** Starts a real agent in a dry run, as the appliance that the body describes. */
export async function startBox(world: EdgeWorld, body: object = {}, faults: Faults = {}): Promise<StartedAgent> {
  const { id, magic } = await addMxedge(world, body)
  const agent = await startAgent(world, { code: magic, applianceOf: ({ state }) => dryRunAppliance(state, faults) })
  await untilConnected(world, id)
  return { ...agent, id }
}

/** An agent that sends only the test's messages. */
export interface Peer {
  readonly id: string
  readonly credentials: Credentials
  readonly agent: AgentPeer
}

const methods = [...hello.methods, 'service.upgrade', 'distro.upgrade']

/** The report of an agent whose tunterm has this version. */
export const running = (version: string) => ({
  ...report,
  services: [
    { name: 'mxagent', version: '1.0.0', state: 'running' },
    { name: 'tunterm', version, state: 'running' },
  ],
})

export async function connect(world: EdgeWorld, credentials: Credentials, changes: object = {}): Promise<AgentPeer> {
  const agent = await openAgent(world, credentials)
  await agent.hello({ methods, report: running('1.0.0'), ...changes })
  agent.succeed(await agent.nextConfiguration())
  return agent
}

export async function addPeer(world: EdgeWorld, body: object = {}, changes: object = {}): Promise<Peer> {
  const { id, magic } = await addMxedge(world, body)
  const credentials = await register(world, magic)
  return { id, credentials, agent: await connect(world, credentials, changes) }
}

/** Adds an appliance in the state after its agent has registered and connected once. @returns Its id. */
export async function addBox(
  server: TestServer,
  {
    body = {},
    facts = {},
    org = server.org,
  }: { readonly body?: object; readonly facts?: object; readonly org?: TestOrg } = {},
): Promise<string> {
  const { id } = await addMxedge(server, body, org)
  await bringUp(server, id, { facts, org })
  return id
}

/** Gives an appliance the state after its agent has registered and connected once. */
export async function bringUp(
  server: TestServer,
  id: string,
  { facts = {}, org = server.org }: { readonly facts?: object; readonly org?: TestOrg } = {},
): Promise<void> {
  const { report: _, ...said } = hello
  await inTx(server.ctx, async (tx) => {
    const registered = { registeredKey: id.replaceAll('-', ''), registeredAt: server.ctx.clock.now() }
    await tx.updateTable('mxedge').set(registered).where('id', '=', id).execute()
    await openSession(tx, systemScope('gateway', org.orgId), {
      mxedgeId: id,
      nodeId: id,
      facts: { ...said, methods, ext_ip: null, ...facts },
      report: running('1.0.0') as MxedgeReport,
      certificateExpiresAt: new Date('2036-01-01T00:00:00Z'),
      at: server.ctx.clock.now(),
      atMs: server.ctx.serviceClock.nowMs(),
    })
  })
}

export const pathOf = (world: TestServer): string => `/orgs/${world.org.orgId}/mxedges/upgrade`

export async function upgrade(world: TestServer, body: object): Promise<AnyJson> {
  const answer = await world.call('POST', pathOf(world), { body })
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
  return answer.body
}

export async function find(world: TestServer, id: string): Promise<AnyJson> {
  return (await world.call('GET', `${pathOf(world)}/${id}`)).body
}

export async function targetsOf(world: TestServer, id: string): Promise<AnyJson[]> {
  return (await world.call('GET', `${pathOf(world)}/${id}/targets`)).body
}

export function untilTarget(world: TestServer, id: string, mxedgeId: string, status: string): Promise<AnyJson> {
  let found: AnyJson
  const state = () => `the target is ${status}, not ${JSON.stringify(found)}`
  return waitUntil(state, async () => {
    found = (await targetsOf(world, id)).find(({ mxedge_id }) => mxedge_id === mxedgeId)
    return found?.status === status ? found : null
  })
}

/** Returns the commands to an appliance, newest first, without those that configure it. */
export async function commandsOf(world: TestServer, mxedgeId: string): Promise<AnyJson[]> {
  const { body } = await world.call('GET', `/orgs/${world.org.orgId}/mxedges/${mxedgeId}/commands`)
  return body.filter(({ kind }: AnyJson) => kind !== 'configure')
}

export async function deleteUpgrade({ ctx }: TestServer, id: string): Promise<void> {
  await ctx.db.deleteFrom('mxedgeUpgrade').where('id', '=', id).execute()
}

/** Plans an upgrade, removes it, and returns its record and targets. */
export async function planUpgrade(
  world: TestServer,
  body: object,
): Promise<{ readonly record: AnyJson; readonly targets: AnyJson[] }> {
  const record = await upgrade(world, body)
  const targets = await targetsOf(world, record.id)
  await deleteUpgrade(world, record.id)
  return { record, targets }
}

export function untilStatus(world: TestServer, id: string, status: string): Promise<AnyJson> {
  let found: AnyJson
  const state = () => `the upgrade is ${status}, not ${JSON.stringify(found)}`
  return waitUntil(state, async () => {
    found = await find(world, id)
    return found.status === status ? found : null
  })
}

/** Rounds of the worker: the appliances that are named refuse their commands for good, the others obey. */
export async function playUpgrades(
  world: TestServer,
  refusing: readonly (string | undefined)[],
  orgId: string,
): Promise<void> {
  for (let rounds = 0; rounds < 20; rounds += 1) {
    await advanceMxedgeUpgrades(world.ctx, orgId, { ...defaultMxedgeUpgradeOptions, soakMs: 0 })
    const queued = await world.ctx.db
      .selectFrom('mxedgeCommand')
      .select(['id', 'mxedgeId', 'params'])
      .where('state', '=', 'queued')
      .where('orgId', '=', orgId)
      .where('upgradeId', 'is not', null)
      .execute()
    if (queued.length === 0 && !(await isAnyInFlight(world, orgId))) return
    for (const command of queued) await answer(world, command, refusing.includes(command.mxedgeId))
  }
}

async function isAnyInFlight(world: TestServer, orgId: string): Promise<boolean> {
  const query = world.ctx.db.selectFrom('mxedgeUpgradeTarget').select('mxedgeId')
  const here = query.where('orgId', '=', orgId)
  return (await here.where('state', '=', anyOf(inFlightStates)).executeTakeFirst()) !== undefined
}

async function answer(
  world: TestServer,
  {
    id,
    mxedgeId,
    params,
  }: { readonly id: string; readonly mxedgeId: string; readonly params: Record<string, unknown> },
  refuses: boolean,
): Promise<void> {
  const end = refuses
    ? { state: 'rejected' as const, outcome: json({ text: 'The disk is full', final: true }) }
    : { state: 'done' as const }
  const ended = { ...end, finishedAt: world.ctx.clock.now() }
  await world.ctx.db.updateTable('mxedgeCommand').set(ended).where('id', '=', id).execute()
  if (refuses) return
  const report = json(running(String(params['version'])))
  await world.ctx.db.updateTable('mxedgeSession').set({ report }).where('mxedgeId', '=', mxedgeId).execute()
}
