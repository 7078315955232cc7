import { onTestFinished } from 'vitest'
import { parseConfig } from '../../../src/app/config/config.ts'
import { type Running, startServer } from '../../../src/app/start.ts'
import { type Client, createClient } from '../../../src/cli/client.ts'
import { loadDeviceCa } from '../../../src/gateway/certificates/device-ca.ts'
import { createLog } from '../../../src/platform/log.ts'
import type { PlannedDevice } from '../../../src/simulator/fleet-plan.ts'
import { type Fleet, type FleetOptions, startFleet } from '../../../src/simulator/fleet.ts'
import type { AnyJson } from '../contract/any-json.ts'
import { createTestDatabase, databaseUrl } from '../database/database.ts'
import { type AtEnd, temporaryDir } from '../temporary-dir.ts'

/** The whole service in the process of the test, on free ports and a separate database. */
export interface Service {
  readonly server: Running
  readonly dataDir: string
  readonly settings: Readonly<Record<string, string>>
  readonly connect: (authorization: string) => Client
}

/** Starts the service until the test ends, or at the latest until `atEnd`. */
export async function startService(
  more: Readonly<Record<string, string>> = {},
  atEnd: AtEnd = onTestFinished,
): Promise<Service> {
  const dataDir = await temporaryDir(atEnd)
  const database = await createTestDatabase()
  atEnd(() => database.drop())
  const settings = {
    SIGNALBOX_DATA_DIR: dataDir,
    SIGNALBOX_DATABASE_URL: databaseUrl(database.connection),
    SIGNALBOX_PORT: '0',
    SIGNALBOX_UCENTRAL_PORT: '0',
    SIGNALBOX_EDGE_PORT: '0',
    SIGNALBOX_LOG_LEVEL: 'silent',
    SIGNALBOX_ROLLOUT_SOAK_S: '0',
    ...more,
  }
  const server = await startServer(parseConfig(settings))
  atEnd(() => server.stop())
  const connect = (authorization: string): Client => createClient({ url: server.url, authorization, dataDir })
  return { server, dataDir, settings, connect }
}

/** The claim code of the device at this place of a list. */
export const claimCodeOf = (place: number): string => `CODE1-00000-0000${place}`

/** Registers devices that no organization has claimed yet. */
export async function addToManifest({ server, connect }: Service, devices: readonly PlannedDevice[]): Promise<void> {
  const lines = devices.map(({ firmware: _, methods: __, ...line }, place) => {
    return { ...line, claim_code: claimCodeOf(place) }
  })
  await connect(`Operator ${server.operatorKey}`).call('POST', '/operator/v1/manifest', { devices: lines })
}

/** A site of a new organization. */
export interface ClaimedSite {
  readonly client: Client
  /** Paths of the API. */
  readonly org: string
  readonly site: string
}

/** Claims the devices for a new organization, and assigns them to its only site. */
export async function claimDevices(service: Service, devices: readonly PlannedDevice[]): Promise<ClaimedSite> {
  const { server, connect } = service
  const account = { email: 'a@b.test', password: 'correct horse battery', org: 'Test' }
  const operator = connect(`Operator ${server.operatorKey}`)
  const made = (await operator.call('POST', '/operator/v1/bootstrap', account)) as AnyJson
  const client = connect(`Token ${made.api_token}`)
  const org = `/api/v1/orgs/${made.org_id}`
  await addToManifest(service, devices)
  const codes = devices.map((_, place) => claimCodeOf(place))
  await client.call('POST', `${org}/inventory`, codes)
  const { id } = (await client.call('POST', `${org}/sites`, { name: 'Here' })) as AnyJson
  await client.call('PUT', `${org}/inventory`, { op: 'assign', site_id: id, macs: devices.map(({ mac }) => mac) })
  return { client, org, site: `/api/v1/sites/${id}` }
}

/** Starts simulated devices at a hundred times their real speed. The caller stops them. */
export async function startDevices(
  { server, dataDir }: Service,
  devices: readonly PlannedDevice[],
  more: Pick<FleetOptions, 'faults' | 'stateDir'> = {},
): Promise<Fleet> {
  return startFleet({
    gateway: { host: '127.0.0.1', port: server.ucentralPort },
    ca: await loadDeviceCa(dataDir),
    devices,
    log: createLog('silent'),
    pace: { timeScale: 0.01 },
    ...more,
  })
}
