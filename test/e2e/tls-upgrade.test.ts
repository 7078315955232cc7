import { expect, it, onTestFinished } from 'vitest'
import { parseConfig } from '../../src/app/config.ts'
import { type Running, startServer } from '../../src/app/start.ts'
import { type Client, createClient } from '../../src/cli/client.ts'
import { loadDeviceCa } from '../../src/gateway/device-ca.ts'
import { createLog } from '../../src/platform/log.ts'
import type { PlannedDevice } from '../../src/simulator/fleet-plan.ts'
import { startFleet } from '../../src/simulator/fleet.ts'
import { imageHeader } from '../../src/simulator/image.ts'
import type { AnyJson } from '../support/any-json.ts'
import { createTestDatabase } from '../support/database.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { waitUntil } from '../support/wait-until.ts'

const MODEL = 'EAP101'
const ap: PlannedDevice = { mac: '02000000d001', serial: 'S1', model: MODEL, type: 'ap', firmware: '1.0.0' }

async function startWithTls(dataDir: string): Promise<Running> {
  const database = await createTestDatabase()
  onTestFinished(() => database.drop())
  const { host, port, user, password = '', database: name } = database.connection
  const server = await startServer(
    parseConfig({
      SIGNALBOX_DATA_DIR: dataDir,
      SIGNALBOX_DATABASE_URL: `postgresql://${user}:${password}@localhost:${port}/${name}?host=${encodeURIComponent(host)}`,
      SIGNALBOX_PORT: '0',
      SIGNALBOX_UCENTRAL_PORT: '0',
      SIGNALBOX_EDGE_PORT: '0',
      SIGNALBOX_LOG_LEVEL: 'silent',
      SIGNALBOX_ROLLOUT_SOAK_S: '0',
      SIGNALBOX_TLS: 'self-signed',
    }),
  )
  onTestFinished(() => server.stop())
  return server
}

/** Claims the access point and assigns it to a site of a new organization. */
async function claim(operator: Client, connect: (token: string) => Client): Promise<{ org: string; client: Client }> {
  const account = { email: 'a@b.test', password: 'correct horse battery', org: 'Test' }
  const made = (await operator.call('POST', '/operator/v1/bootstrap', account)) as AnyJson
  const org = `/api/v1/orgs/${made.org_id}`
  const client = connect(made.api_token)
  const device = { mac: ap.mac, serial: ap.serial, model: MODEL, type: 'ap', claim_code: 'CODE1-00000-00001' }
  await operator.call('POST', '/operator/v1/manifest', { devices: [device] })
  await client.call('POST', `${org}/inventory`, [device.claim_code])
  const site = (await client.call('POST', `${org}/sites`, { name: 'Here' })) as AnyJson
  await client.call('PUT', `${org}/inventory`, { op: 'assign', site_id: site.id, macs: [ap.mac] })
  return { org, client }
}

it("upgrades an access point over https with a self-signed certificate that only the device's own CA vouches for", async () => {
  const dataDir = await temporaryDir()
  const server = await startWithTls(dataDir)
  const connect = (authorization: string): Client => createClient({ url: server.url, authorization, dataDir })
  const { org, client } = await claim(connect(`Operator ${server.operatorKey}`), (token) => connect(`Token ${token}`))
  const fleet = await startFleet({
    gateway: { host: '127.0.0.1', port: server.ucentralPort },
    ca: await loadDeviceCa(dataDir),
    devices: [ap],
    log: createLog('silent'),
    pace: { timeScale: 0.01 },
  })
  onTestFinished(() => fleet.stop())
  const image = Buffer.from(imageHeader([MODEL], '2.0.0').padEnd(100_000, '.'))
  await client.upload(`${org}/firmware?version=2.0.0&models=${MODEL}`, image)
  const stats = async (): Promise<AnyJson> =>
    ((await client.call('GET', `${org}/stats/devices?type=ap`)) as AnyJson[])[0] ?? {}
  await waitUntil('the access point is connected', async () => (await stats()).status === 'connected')
  await client.call('POST', `${org}/devices/upgrade`, { all_sites: true, version: '2.0.0' })
  const upgraded = async (): Promise<boolean> => {
    const { status, version } = await stats()
    return status === 'connected' && version === '2.0.0'
  }
  await waitUntil('the access point is back with the new version', upgraded, 20_000)
  expect(fleet.devices.get(ap.mac)?.counts).toMatchObject({ downloads: 1, flashes: 1, boots: 1 })
})
