import { type KeyObject, randomBytes } from 'node:crypto'
import { signingRequest } from '../../src/agent/signing-request.ts'
import { deviceIdOf } from '../../src/devices/device.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { addSite } from '../support/fleets/devices.ts'
import type { Answer, TestOrg, TestServer } from '../support/servers/server.ts'
import { type AgentPeer, type Credentials, type EdgeWorld, newKey, openAgent, report } from './world.ts'

export function newRouterMac(): string {
  return `02${randomBytes(5).toString('hex')}`
}

/** Returns a registration code of the organization. */
export async function codeOf(server: TestServer, as: TestOrg = server.org, query = ''): Promise<string> {
  const { status, body } = await server.call('GET', `/orgs/${as.orgId}/ssr/register_cmd${query}`, { as })
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body.registration_code
}

export interface RouterClaim {
  readonly code: string
  readonly mac: string
  readonly key?: KeyObject
  readonly serial?: string
  readonly model?: string
}

export function tryToRegisterRouter(server: TestServer, claim: RouterClaim): Promise<Answer> {
  const { code, mac, key = newKey(), serial = `S${mac}`, model = 'SSR120' } = claim
  const body = { code, mac, serial, model, csr: signingRequest(key) }
  return server.call('POST', '/ssr/register', { as: null, body })
}

export interface RouterCredentials extends Omit<Credentials, 'mxedgeId'> {
  readonly mac: string
  readonly deviceId: string
}

export async function registerRouter(
  server: TestServer,
  { as = server.org, mac = newRouterMac(), key = newKey() }: { as?: TestOrg; mac?: string; key?: KeyObject } = {},
): Promise<RouterCredentials> {
  const { status, body } = await tryToRegisterRouter(server, { code: await codeOf(server, as), mac, key })
  if (status !== 200) throw new Error(JSON.stringify(body))
  return { mac, deviceId: body.device_id, key, certificate: body.certificate, ca: body.ca }
}

const { services: _services, ...routerReport } = report

export function routerHello(mac: string): AnyJson {
  return {
    agent: '0.1.0',
    role: 'ssr',
    mac,
    boot_id: 'first-boot',
    model: 'SSR120',
    serial: `S${mac}`,
    version: '6.1.0',
    nodes: [],
    methods: ['restart', 'stage', 'activate'],
    report: routerReport,
  }
}

/** Opens the connection of a router's agent, which sends only the test's messages. */
export function openRouter(world: EdgeWorld, credentials: RouterCredentials, changes: object = {}): Promise<AgentPeer> {
  return openAgent(world, credentials, { ...routerHello(credentials.mac), ...changes })
}

export interface ConnectedRouter extends RouterCredentials {
  readonly siteId: string
  readonly agent: AgentPeer
}

/** A router that has registered, that is in a site, and whose agent is connected. */
export async function connectRouter(world: EdgeWorld, changes: object = {}): Promise<ConnectedRouter> {
  const credentials = await registerRouter(world)
  const siteId = await addSite(world)
  await assignRouter(world, { siteId, mac: credentials.mac })
  const agent = await openRouter(world, credentials, changes)
  await agent.hello()
  return { ...credentials, siteId, agent }
}

export async function assignRouter(server: TestServer, place: { siteId: string; mac: string }): Promise<void> {
  const body = { op: 'assign', site_id: place.siteId, macs: [place.mac] }
  const { status } = await server.call('PUT', `/orgs/${server.org.orgId}/inventory`, { body })
  if (status !== 200) throw new Error(`assigning ${place.mac} was answered ${status}`)
}

/** Returns the router as the inventory shows it; undefined if the organization does not have it. */
export async function inventoryOf(server: TestServer, mac: string, as: TestOrg = server.org): Promise<AnyJson> {
  const { body } = await server.call('GET', `/orgs/${as.orgId}/inventory?mac=${mac}`, { as })
  return body[0]
}

/** Returns the device with its status. */
export async function statsOf(server: TestServer, { siteId, mac }: { siteId: string; mac: string }): Promise<AnyJson> {
  return (await server.call('GET', `/sites/${siteId}/stats/devices/${deviceIdOf(mac)}`)).body
}
