import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Client } from './client.ts'
import { messageOf } from '../platform/message-of.ts'
import { demoMxedges, demoRouter } from './demo-fleet.ts'

export interface DemoAgents {
  readonly orgId: string
  readonly url: string
  readonly edgePort: number
  readonly dataDir: string
}

const program = fileURLToPath(new URL('../bin/agent.ts', import.meta.url))

const Mxedge = Type.Object({ id: Type.String(), name: Type.String(), magic: Type.Optional(Type.String()) })
const RegisterCommand = Type.Object({ registration_code: Type.String() })

/** Creates the demo's edge appliances, unless they exist. */
export async function ensureMxedges(client: Client, orgId: string): Promise<void> {
  const path = `/api/v1/orgs/${orgId}/mxedges`
  const there = Value.Parse(Type.Array(Mxedge), await client.call('GET', `${path}?limit=1000`))
  for (const mxedge of demoMxedges)
    if (!there.some(({ name }) => name === mxedge.name)) await client.call('POST', path, mxedge)
}

/** The agent ends with it when its registration has ended. */
const UNREGISTERED = 3
/** The file in the folder of an agent that ended so. With its code it would register in place of the machine that replaced it. */
const ENDED = 'ended'

/**
 * Starts a real agent, which changes nothing on this machine, for each edge appliance and the router of the demo, as far
 * as they still exist, and their users have not ended their registrations. Resolves when all are connected or have ended.
 */
export async function runAgents(client: Client, demo: DemoAgents): Promise<void> {
  const agents = [...(await listEdgeAgents(client, demo.orgId)), ...(await listRouterAgents(client, demo.orgId))]
  await Promise.all(agents.map((agent) => runAgent(agent, demo)))
}

interface DemoAgent {
  /** The name in its messages. */
  readonly title: string
  /** The folder of its state, in that of the service. */
  readonly folder: string
  /** The registration code; not needed if the agent is registered. */
  readonly code?: string
  readonly args: readonly string[]
}

async function listEdgeAgents(client: Client, orgId: string): Promise<DemoAgent[]> {
  const listed = await client.call('GET', `/api/v1/orgs/${orgId}/mxedges?limit=1000`)
  const there = Value.Parse(Type.Array(Mxedge), listed)
  return demoMxedges.flatMap(({ name }) => {
    const mxedge = there.find((other) => other.name === name)
    if (mxedge === undefined) return []
    const { id, magic } = mxedge
    const title = `edge appliance "${name}"`
    return [{ title, folder: join('demo-edges', id), ...(magic !== undefined && { code: magic }), args: [] }]
  })
}

/** Returns the agent of the router; none if the organization has given the router up. */
async function listRouterAgents(client: Client, orgId: string): Promise<DemoAgent[]> {
  const { mac, serial, model, name } = demoRouter
  const listed = await client.call('GET', `/api/v1/orgs/${orgId}/inventory?mac=${mac}`)
  if (Value.Parse(Type.Array(Type.Unknown()), listed).length === 0) return []
  const answer = await client.call('GET', `/api/v1/orgs/${orgId}/ssr/register_cmd`)
  const { registration_code: code } = Value.Parse(RegisterCommand, answer)
  const args = ['--role', 'ssr', '--mac', mac, '--serial', serial, '--model', model]
  return [{ title: `router "${name}"`, folder: 'demo-router', code, args }]
}

/** The process ends with this one. */
async function runAgent({ title, folder, code, args }: DemoAgent, place: Omit<DemoAgents, 'orgId'>): Promise<void> {
  const { url, edgePort, dataDir } = place
  const state = join(dataDir, folder)
  const ended = join(state, ENDED)
  if (existsSync(ended)) return
  await mkdir(state, { recursive: true, mode: 0o700 })
  const ca = url.startsWith('https:') ? ['--ca', join(dataDir, 'device-ca', 'ca.pem')] : []
  // A service with a free port has another one after each start.
  const gateway = ['--gateway', `127.0.0.1:${edgePort}`]
  const common = ['--state', state, '--url', url, ...gateway, '--dry-run', ...ca]
  const child = spawn(process.execPath, [program, ...common, ...args], {
    env: { ...process.env, ...(code !== undefined && { SIGNALBOX_AGENT_CODE: code }) },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  if (child.stdout === null) throw new Error('unreachable: its output is a pipe')
  const lines = createInterface({ input: child.stdout })
  await new Promise<void>((resolve) => {
    lines.on('line', (line) => {
      if (line.includes('"what":"connected"')) resolve()
    })
    child.once('error', () => resolve())
    child.once('exit', (code) => {
      resolve()
      if (code !== 0) process.stderr.write(`signalbox: the agent of ${title} ended (${code})\n`)
      if (code === UNREGISTERED)
        writeFile(ended, '').catch((error: unknown) =>
          process.stderr.write(`signalbox: ${ended} could not be written: ${messageOf(error)}\n`),
        )
    })
  })
}
