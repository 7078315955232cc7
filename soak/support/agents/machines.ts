import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '../../../src/cli/client.ts'
import { deviceIdOf } from '../../../src/devices/device.ts'
import { createMachine, machineScript } from '../../../test/edge/kills/killable-agent.ts'
import type { MachinePlace } from '../../../test/edge/kills/machine-roles.ts'
import type { Service } from '../service.ts'
import type { HostedAgent } from './agent-hosts.ts'

/** A machine, and what the interface calls it. */
export interface Machine {
  /** The id of the edge appliance, or of the router. */
  readonly id: string
  readonly agent: HostedAgent
}

export interface MachinesPlan {
  readonly appliances: number
  readonly routers: number
  /** How long each command of a machine takes. */
  readonly commandS: number
}

export interface MachinesParts {
  /** Receives the folders of the machines and of their agents. */
  readonly folder: string
  readonly service: Service
  readonly client: Client
  /** The path of the organization. */
  readonly org: string
}

/** The appliances of one cluster, which never install at the same time. */
const CLUSTERED = 4

/** Creates machines whose agents have not registered: edge appliances, then routers. */
export async function createMachines(parts: MachinesParts, plan: MachinesPlan): Promise<Machine[]> {
  const { client, org } = parts
  const cluster = (await client.call('POST', `${org}/mxclusters`, { name: 'Cluster' })) as { readonly id: string }
  const { registration_code: code } = (await client.call('GET', `${org}/ssr/register_cmd`)) as {
    readonly registration_code: string
  }
  const machines: Machine[] = []
  for (let index = 0; index < plan.appliances; index += 1) {
    const body = { name: `Edge ${index + 1}`, model: 'ME-VM', ...(index < CLUSTERED && { mxcluster_id: cluster.id }) }
    const made = (await client.call('POST', `${org}/mxedges`, body)) as { readonly id: string; readonly magic: string }
    machines.push({ id: made.id, agent: await createAgent(parts, plan, { role: 'edge', mac: '', code: made.magic }) })
  }
  for (let index = 0; index < plan.routers; index += 1) {
    const mac = `02${(0xa0_0000 + index).toString(16).padStart(10, '0')}`
    machines.push({ id: deviceIdOf(mac), agent: await createAgent(parts, plan, { role: 'ssr', mac, code }) })
  }
  return machines
}

/** The versions that machines run before the first upgrade. */
const FIRST_VERSION = { edge: '1.0.0', ssr: '6.0.0' } as const

async function createAgent(
  { folder, service }: MachinesParts,
  { commandS }: MachinesPlan,
  { role, mac, code }: Pick<HostedAgent, 'role' | 'mac' | 'code'>,
): Promise<HostedAgent> {
  const place = join(folder, `${role}-${mac === '' ? code : mac}`)
  const machine = join(place, 'machine')
  await createMachine(machine, FIRST_VERSION[role])
  await writeFile(join(machine, 'pause'), String(commandS))
  return {
    role,
    mac,
    code,
    machine,
    script: machineScript,
    folder: join(place, 'agent'),
    url: service.url,
    gateway: { host: '127.0.0.1', port: service.edgePort },
  }
}

/** Returns the lines that the commands of the machine have written so far. */
export function notesOf({ machine }: Pick<MachinePlace, 'machine'>): string[] {
  return readFileSync(join(machine, 'notes'), 'utf8').split('\n').slice(0, -1)
}

/** Returns what the machine runs. */
export function versionOf({ machine }: Pick<MachinePlace, 'machine'>): string {
  return readFileSync(join(machine, 'version'), 'utf8')
}
