import { spawn } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Client } from './client.ts'
import { demoMxedges } from './demo-fleet.ts'

export interface DemoAgents {
  readonly orgId: string
  readonly url: string
  readonly edgePort: number
  readonly dataDir: string
}

const program = fileURLToPath(new URL('../bin/agent.ts', import.meta.url))

const Mxedge = Type.Object({ id: Type.String(), name: Type.String(), magic: Type.Optional(Type.String()) })

/** Creates the demo's edge appliances, unless they exist. */
export async function ensureMxedges(client: Client, orgId: string): Promise<void> {
  const path = `/api/v1/orgs/${orgId}/mxedges`
  const there = Value.Parse(Type.Array(Mxedge), await client.call('GET', `${path}?limit=1000`))
  for (const mxedge of demoMxedges)
    if (!there.some(({ name }) => name === mxedge.name)) await client.call('POST', path, mxedge)
}

/**
 * Starts a real agent, which changes nothing on this machine, for each edge appliance of the demo that still exists.
 * Resolves when all are connected or have ended: a user may have replaced one of them.
 */
export async function runAgents(client: Client, { orgId, ...place }: DemoAgents): Promise<void> {
  const listed = await client.call('GET', `/api/v1/orgs/${orgId}/mxedges?limit=1000`)
  const there = Value.Parse(Type.Array(Mxedge), listed)
  await Promise.all(
    demoMxedges.map(async ({ name }) => {
      const mxedge = there.find((other) => other.name === name)
      if (mxedge !== undefined) await runAgent({ ...mxedge, ...place })
    }),
  )
}

type AgentPlace = Type.Static<typeof Mxedge> & Omit<DemoAgents, 'orgId'>

/** The process ends with this one. */
async function runAgent({ id, name, magic, url, edgePort, dataDir }: AgentPlace): Promise<void> {
  const state = join(dataDir, 'demo-edges', id)
  await mkdir(state, { recursive: true, mode: 0o700 })
  const ca = url.startsWith('https:') ? ['--ca', join(dataDir, 'device-ca', 'ca.pem')] : []
  // A service with a free port has another one after each start.
  const gateway = ['--gateway', `127.0.0.1:${edgePort}`]
  const child = spawn(process.execPath, [program, '--state', state, '--url', url, ...gateway, '--dry-run', ...ca], {
    env: { ...process.env, ...(magic !== undefined && { SIGNALBOX_AGENT_CODE: magic }) },
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
      if (code !== 0) process.stderr.write(`signalbox: the agent of edge appliance "${name}" ended (${code})\n`)
    })
  })
}
