// The real server is killed while a Virtual Chassis works on a request of its upgrade.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Service, createService } from '../../soak/support/service.ts'
import type { Client } from '../../src/cli/client.ts'
import { deviceIdOf } from '../../src/devices/device.ts'
import { imageHeader } from '../../src/simulator/image.ts'
import { type JunosConfig, parseJunosConfig } from '../../src/simulator/junos/junos-config.ts'
import { createJunosDevice } from '../../src/simulator/junos/junos-device.ts'
import { startSimulatedJunos } from '../../src/simulator/junos/simulated-junos.ts'
import { newMac } from '../gateway/harness.ts'
import type { AnyJson } from '../support/any-json.ts'
import { waitUntil } from '../support/wait-until.ts'
import { newHostKey } from './harness.ts'

const MODEL = 'EX4100-48P'
const VERSION = '23.4R2-S2.1'
const WITHIN_MS = 120_000

interface World {
  readonly service: Service
  readonly operator: Client
  readonly client: Client
  readonly org: string
  readonly siteId: string
  readonly config: JunosConfig
}

let folder: string
let world: World
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signalbox-junos-'))
  const service = await createService(folder, { SIGNALBOX_ROLLOUT_SOAK_S: '0' })
  service.start()
  if (!(await service.ready())) throw new Error('the server did not start')
  const operator = await service.client()
  const account = { email: 'a@example.test', password: 'correct horse battery', org: 'Test' }
  const made = (await operator.call('POST', '/operator/v1/bootstrap', account)) as AnyJson
  const client = await service.client(`Token ${made.api_token}`)
  const org = `/api/v1/orgs/${made.org_id}`
  const site = (await client.call('POST', `${org}/sites`, { name: 'Here' })) as AnyJson
  const image = Buffer.from(imageHeader([MODEL], VERSION).padEnd(100_000, '.'))
  await client.upload(`${org}/firmware?version=${VERSION}&models=${MODEL}`, image)
  const { cmd } = (await client.call('GET', `${org}/ocdevices/outbound_ssh_cmd`)) as AnyJson
  const config = { ...parseJunosConfig(cmd), host: '127.0.0.1', port: service.netconfPort }
  world = { service, operator, client, org, siteId: site.id, config }
}, WITHIN_MS)
afterAll(async () => {
  await world.service.close()
  await rm(folder, { recursive: true, force: true, maxRetries: 10 })
})

/** Claims a Virtual Chassis of three that calls home until the test ends. */
async function addChassis(onRequest: (name: string) => void) {
  const { operator, client, org, siteId, config } = world
  const mac = newMac()
  const line = { mac, serial: mac, model: MODEL, type: 'switch', claim_code: `COD${mac.toUpperCase()}` }
  await operator.call('POST', '/operator/v1/manifest', { devices: [line] })
  await client.call('POST', `${org}/inventory`, [line.claim_code])
  await client.call('PUT', `${org}/inventory`, { op: 'assign', site_id: siteId, macs: [mac] })
  const now = (): number => Date.now()
  const { deviceId, secret, ...place } = config
  const device = createJunosDevice({ mac, model: MODEL.toLowerCase(), form: 'virtual_chassis', nowMs: now() })
  const running = startSimulatedJunos({
    ...place,
    device,
    hostKey: newHostKey(),
    outboundSsh: { deviceId, secret },
    bootMs: 20,
    retryMs: 100,
    // The server is dead before the device has done what it was asked for.
    workMs: 300,
    now,
    onRequest,
  })
  onTestFinished(() => running.stop())
  const path = `/api/v1/sites/${siteId}/stats/devices/${deviceIdOf(mac)}`
  const stats = async (): Promise<AnyJson> => (await client.call('GET', path)) as AnyJson
  await waitUntil('the connection', async () => (await stats()).status === 'connected')
  return { device, id: deviceIdOf(mac) }
}

const devices = () => `/api/v1/sites/${world.siteId}/devices`

const points = [
  ['file-copy', 1],
  ['get-sha256-checksum-information', 2],
  ['request-reboot', 1],
] as const

/** Starts the upgrade of a new Virtual Chassis, kills the server when that request arrives, and starts it again. */
async function upgradeAndKill([operation, nth]: (typeof points)[number]) {
  const { service, client } = world
  let count = 0
  const killed = Promise.withResolvers<unknown>()
  const { device, id } = await addChassis((name) => {
    if (name === operation) count += 1
    if (count === nth && name === operation) killed.resolve(service.end('SIGKILL'))
  })
  const body = { device_ids: [id], version: VERSION, reboot: true }
  const upgrade = (await client.call('POST', `${devices()}/upgrade`, body)) as AnyJson
  await killed.promise
  service.start()
  expect(await service.ready()).toBe(true)
  return { device, upgradeId: upgrade.upgrade_id }
}

// A device that was told to install is left alone for the time of an installation, so those steps are in tasks.test.ts.
test(
  'a kill during the download, its verification or the reboot repeats nothing',
  { timeout: 5 * WITHIN_MS },
  async () => {
    const upgrades = []
    for (const point of points) upgrades.push(await upgradeAndKill(point))
    for (const { device, upgradeId } of upgrades) {
      await waitUntil(
        'the upgrade is over',
        async () => ['completed', 'failed'].includes((await readUpgrade(upgradeId)).status),
        3 * WITHIN_MS,
      )
      expect(await readUpgrade(upgradeId)).toMatchObject({
        status: 'completed',
        targets: { upgraded: [device.mac], failed: [] },
      })
      expect(device.journal.toSorted()).toEqual([
        'file-copy',
        'package-add 0',
        'package-add 1',
        'package-add 2',
        'reboot',
      ])
      expect(device.chassis.map(({ active }) => active)).toEqual([VERSION, VERSION, VERSION])
    }
  },
)

async function readUpgrade(id: string): Promise<AnyJson> {
  return (await world.client.call('GET', `${devices()}/upgrade/${id}`)) as AnyJson
}
