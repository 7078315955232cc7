import { setTimeout } from 'node:timers/promises'
import { randomBytes, randomUUID } from 'node:crypto'
import { type DeviceFacts, deviceIdOf } from '../../../src/devices/device.ts'
import { importManifest } from '../../../src/devices/registry/import-manifest.ts'
import type { ManifestRow } from '../../../src/devices/registry/plan-import.ts'
import { recordConnects } from '../../../src/devices/sessions/record-connect.ts'
import type { OpenedSession } from '../../../src/devices/sessions/store.ts'
import { ucentralDriver } from '../../../src/gateway/ucentral/driver.ts'
import { decodeState } from '../../../src/gateway/ucentral/state/decode-state.ts'
import type { Context } from '../../../src/platform/context.ts'
import type { DeviceCapabilities } from '../../../src/devices/tables.ts'
import type { DeviceType } from '../../../src/events/device-type.ts'
import type { TestServer } from '../servers/server.ts'
import { recordReports } from './record.ts'

export interface MadeDevice extends ManifestRow {
  readonly id: string
}

/** Adds new hardware, which the service knows from its manifest and no organization has claimed. */
export async function makeDevices(
  ctx: Context,
  count: number,
  traits: Omit<Partial<ManifestRow>, 'mac'> = {},
): Promise<MadeDevice[]> {
  const rows = Array.from({ length: count }, () => {
    const mac = randomBytes(6).toString('hex')
    return {
      id: deviceIdOf(mac),
      mac,
      serial: `S${mac}`,
      model: 'AP45',
      claim_code: `COD${mac.toUpperCase()}`,
      ...traits,
    }
  })
  const { conflicts } = await importManifest(ctx, rows)
  if (conflicts.length > 0) throw new Error(JSON.stringify(conflicts))
  return rows.sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** Like makeDevices(), but claimed by the server's organization and, if one is given, assigned to a site. */
export async function claimNewDevices(
  server: TestServer,
  count: number,
  { siteId, ...traits }: Partial<ManifestRow> & { readonly siteId?: string } = {},
): Promise<MadeDevice[]> {
  const devices = await makeDevices(server.ctx, count, traits)
  const path = `/orgs/${server.org.orgId}/inventory`
  const claim = await server.call('POST', path, { body: devices.map(({ claim_code }) => claim_code) })
  if (claim.status !== 200) throw new Error(JSON.stringify(claim.body))
  if (siteId !== undefined) {
    const body = { op: 'assign', site_id: siteId, macs: devices.map(({ mac }) => mac) }
    const assign = await server.call('PUT', path, { body })
    if (assign.status !== 200) throw new Error(JSON.stringify(assign.body))
  }
  return devices
}

/** Like claimNewDevices(), for one device. */
export async function claimNewDevice(
  server: TestServer,
  traits: Parameters<typeof claimNewDevices>[2] = {},
): Promise<MadeDevice> {
  const [device] = await claimNewDevices(server, 1, traits)
  if (device === undefined) throw new Error('no device')
  return device
}

/** Returns the capabilities of a uCentral device that offers nothing special. */
export function stockCapabilities(type: DeviceType = 'ap'): DeviceCapabilities {
  return ucentralDriver.capabilitiesOf({ compatible: 'test_model', platform: type })
}

/** What a device of a common sort reports when it connects. */
export function deviceFacts(facts: Partial<DeviceFacts> = {}): DeviceFacts {
  return {
    firmware: '1.0.0',
    model: 'AP45',
    type: 'ap',
    capabilities: stockCapabilities(facts.type),
    members: null,
    reason: null,
    ext_ip: null,
    ...facts,
  }
}

/** Records the same data as the gateway when the device connects. */
export async function connectDevice(
  ctx: Context,
  mac: string,
  facts: Partial<DeviceFacts> = {},
): Promise<OpenedSession> {
  const allFacts = deviceFacts({ reason: 'boot', ext_ip: '192.0.2.7', ...facts })
  const [nodeId, openings] = [randomUUID(), [{ mac, family: 'ucentral' as const, facts: allFacts }]]
  let recorded = await recordConnects(ctx, nodeId, openings)
  // Another transaction is just changing the device. The gateway tries again as well.
  while (recorded.lockedIds.size > 0) {
    await setTimeout(10)
    recorded = await recordConnects(ctx, nodeId, openings, true)
  }
  const [session] = recorded.opened
  if (session === undefined) throw new Error('no session')
  return session
}

/** Records a state that the device reports, as the gateway does. */
export async function reportState(
  { ctx }: Pick<TestServer, 'ctx'>,
  session: OpenedSession,
  { state, uptime }: { readonly state: object; readonly uptime: number },
): Promise<void> {
  const unit = { ...Reflect.get(state, 'unit'), uptime }
  const telemetry = decodeState({ ...state, unit })
  const { cpu_percent: cpu } = telemetry.unit
  const load = { ...(cpu !== undefined && { cpu_percent: cpu }) }
  await recordReports(ctx, [{ ...session, load, uptimeS: uptime, boot: null, firmware: null, telemetry }])
}

export async function addSite(server: TestServer, name = 'Here', as = server.org): Promise<string> {
  const site = await server.call('POST', `/orgs/${as.orgId}/sites`, { as, body: { name } })
  if (site.status !== 200) throw new Error(JSON.stringify(site.body))
  return site.body.id
}
