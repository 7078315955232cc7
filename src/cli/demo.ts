import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { writeWhole } from '../platform/storage/files.ts'
import { type Client, createClient } from './client.ts'
import { ensureMxedges, runAgents } from './demo-agents.ts'
import {
  type DemoDevice,
  demoCatalog,
  demoDevices,
  demoImage,
  demoRouter,
  demoSites,
  demoVersions,
} from './demo-fleet.ts'
import { runSimulator } from './demo-simulator.ts'

export interface DemoOptions {
  readonly url: string
  readonly operatorKey: string
  readonly ucentralPort: number
  /** Null: the service takes no Junos devices; the demo needs it to. */
  readonly netconfPort: number | null
  readonly edgePort: number
  readonly dataDir: string
  /** How long simulated devices take, in percent of real ones. */
  readonly timePercent: number
}

const Demo = Type.Object({
  base_url: Type.String(),
  email: Type.String(),
  password: Type.String(),
  api_token: Type.String(),
  org_id: Type.String(),
  site_ids: Type.Array(Type.String()),
})
type Demo = Type.Static<typeof Demo>

const Listed = Type.Array(Type.Object({ id: Type.String(), name: Type.String() }))
const Versions = Type.Array(Type.Object({ version: Type.String() }))

/**
 * Fills a running service with the demo through its API, prints how to log in, and starts the simulated fleet. Until
 * the demo is complete, which `demo.json` records by its site ids, every step first checks what exists, so a run after
 * a crash completes it. A complete demo stays as its user has changed it.
 */
export async function runDemo(options: DemoOptions): Promise<void> {
  const path = join(options.dataDir, 'demo.json')
  const known = await readDemo(path)
  const account = known ?? (await createAccount(options))
  if (known === null) await writeDemo(path, account)
  const client = createClient({ ...options, authorization: `Token ${account.api_token}` })
  const fleet = demoDevices()
  const demo = { ...account, base_url: options.url }
  if (demo.site_ids.length === 0) {
    demo.site_ids = await ensureSites(client, demo.org_id)
    await ensureFirmware(client, demo.org_id)
    const [first = [], ...others] = fleet
    await ensureDevices(client, { demo, fleet: [[...first, demoRouter], ...others], options })
    await ensureMxedges(client, demo.org_id)
  }
  await writeDemo(path, demo)
  const junosCommands = await readJunosCommands(client, demo.org_id)
  if (options.netconfPort === null) throw new Error('unreachable: the demo listens for Junos devices')
  const { netconfPort } = options
  await runSimulator({
    ...options,
    netconfPort,
    junosCommands,
    fleet: fleet.flat(),
    firmware: demoVersions[0].version,
  })
  await untilConnected(client, demo.org_id, fleet.flat())
  await runAgents(client, { orgId: demo.org_id, ...options })
  for (const [name, value] of Object.entries(demo))
    process.stdout.write(`${name}=${Array.isArray(value) ? value.join(',') : value}\n`)
}

async function readDemo(path: string): Promise<Demo | null> {
  const text = await readFile(path, 'utf8').catch(() => null)
  if (text === null) return null
  const value: unknown = JSON.parse(text)
  return Value.Check(Demo, value) ? value : null
}

async function writeDemo(path: string, demo: Demo): Promise<void> {
  await writeWhole(path, `${JSON.stringify(demo, null, 2)}\n`)
}

async function createAccount(options: DemoOptions): Promise<Demo> {
  const operator = createClient({ ...options, authorization: `Operator ${options.operatorKey}` })
  const email = `demo-${randomBytes(3).toString('hex')}@example.com`
  const password = randomBytes(12).toString('base64url')
  const made = await operator.call('POST', '/operator/v1/bootstrap', { email, password, org: 'Signalbox demo' })
  const { org_id, api_token } = Value.Parse(Type.Object({ org_id: Type.String(), api_token: Type.String() }), made)
  return { base_url: options.url, email, password, api_token, org_id, site_ids: [] }
}

/** @returns The ids in the order of `demoSites`. */
async function ensureSites(client: Client, orgId: string): Promise<string[]> {
  const path = `/api/v1/orgs/${orgId}/sites`
  const there = Value.Parse(Listed, await client.call('GET', `${path}?limit=1000`))
  const ids: string[] = []
  for (const site of demoSites) {
    const known = there.find(({ name }) => name === site.name)
    const { id } = known ?? Value.Parse(Type.Object({ id: Type.String() }), await client.call('POST', path, site))
    ids.push(id)
  }
  return ids
}

async function ensureFirmware(client: Client, orgId: string): Promise<void> {
  for (const { model, type, versions } of demoCatalog) {
    const listed = await client.call('GET', `/api/v1/orgs/${orgId}/devices/versions?type=${type}&model=${model}`)
    const there = new Set(Value.Parse(Versions, listed).map(({ version }) => version))
    for (const { version, tag } of versions) {
      if (there.has(version)) continue
      const query = new URLSearchParams({ version, models: model, ...(tag !== null && { tag }) })
      await client.upload(`/api/v1/orgs/${orgId}/firmware?${query.toString()}`, demoImage([model], version))
    }
  }
}

async function readJunosCommands(client: Client, orgId: string): Promise<string> {
  const answer = await client.call('GET', `/api/v1/orgs/${orgId}/ocdevices/outbound_ssh_cmd`)
  return Value.Parse(Type.Object({ cmd: Type.String() }), answer).cmd
}

const CONNECT_WITHIN_MS = 30_000
const Connected = Type.Array(Type.Object({ mac: Type.String(), connected: Type.Optional(Type.Boolean()) }))

/** Waits for the Junos devices that the demo still has: the service requests their facts after they have connected. */
async function untilConnected(client: Client, orgId: string, fleet: readonly DemoDevice[]): Promise<void> {
  const macs = new Set(fleet.filter(({ protocol }) => protocol === 'junos').map(({ mac }) => mac))
  const untilMs = performance.now() + CONNECT_WITHIN_MS
  while (performance.now() < untilMs) {
    const listed = Value.Parse(Connected, await client.call('GET', `/api/v1/orgs/${orgId}/inventory?limit=1000`))
    if (listed.every(({ mac, connected = false }) => connected || !macs.has(mac))) return
    await delay(200)
  }
}

interface DeviceStep {
  readonly demo: Demo
  readonly fleet: readonly (readonly DemoDevice[])[]
  readonly options: DemoOptions
}

async function ensureDevices(client: Client, { demo, fleet, options }: DeviceStep): Promise<void> {
  const path = `/api/v1/orgs/${demo.org_id}/inventory`
  const operator = createClient({ ...options, authorization: `Operator ${options.operatorKey}` })
  const devices = fleet
    .flat()
    .map(({ mac, serial, model, type, claim_code }) => ({ mac, serial, model, type, claim_code }))
  await operator.call('POST', '/operator/v1/manifest', { devices })
  await client.call(
    'POST',
    path,
    devices.map(({ claim_code }) => claim_code),
  )
  for (const [index, siteId] of demo.site_ids.entries()) {
    const macs = (fleet[index] ?? []).map(({ mac }) => mac)
    await client.call('PUT', path, { op: 'assign', site_id: siteId, macs })
    for (const { mac, name } of fleet[index] ?? [])
      await client.call('PUT', `/api/v1/sites/${siteId}/devices/00000000-0000-0000-1000-${mac}`, { name })
  }
}
