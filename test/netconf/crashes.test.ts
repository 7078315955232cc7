// The real server is killed while Virtual Chassis work on requests of their upgrades.
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { deviceIdOf } from '../../src/devices/device.ts'
import { imageHeader } from '../../src/simulator/image.ts'
import { type JunosConfig, parseJunosConfig } from '../../src/simulator/junos/junos-config.ts'
import { type JunosDevice, createJunosDevice } from '../../src/simulator/junos/junos-device.ts'
import { type SimulatedJunosOptions, startSimulatedJunos } from '../../src/simulator/junos/simulated-junos.ts'
import { newMac } from '../gateway/harness.ts'
import { afterFile } from '../support/after-file.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { type KillableService, startKillableService } from '../support/servers/killable-service.ts'
import { waitUntil } from '../support/wait-until.ts'
import { newHostKey } from './harness.ts'

const MODEL = 'EX4100-48P'
const VERSION = '23.4R2-S2.1'
const WITHIN_MS = 120_000

let world: KillableService & { readonly config: JunosConfig }
beforeAll(async () => {
  const started = await startKillableService(afterFile)
  const { service, client, org } = started
  const image = Buffer.from(imageHeader([MODEL], VERSION).padEnd(100_000, '.'))
  await client.upload(`${org}/firmware?version=${VERSION}&models=${MODEL}`, image)
  const { cmd } = (await client.call('GET', `${org}/ocdevices/outbound_ssh_cmd`)) as AnyJson
  const config = { ...parseJunosConfig(cmd), host: '127.0.0.1', port: service.netconfPort }
  world = { ...started, config }
}, WITHIN_MS)

/** Claims a Virtual Chassis of three that calls home until the test ends. */
async function addChassis(hooks: Pick<SimulatedJunosOptions, 'onRequest' | 'onBoot'>): Promise<JunosDevice> {
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
    now,
    ...hooks,
  })
  onTestFinished(() => running.stop())
  const path = `/api/v1/sites/${siteId}/stats/devices/${deviceIdOf(mac)}`
  const stats = async (): Promise<AnyJson> => (await client.call('GET', path)) as AnyJson
  await waitUntil('the connection', async () => (await stats()).status === 'connected')
  return device
}

const devices = () => `/api/v1/sites/${world.siteId}/devices`

/** Each is the point at which one Virtual Chassis loses the server: the request that it is working on, and which one. */
const points = [
  ['file-copy', 1],
  ['get-sha256-checksum-information', 2],
  ['request-package-add', 1],
  ['request-package-add', 2],
  ['request-package-add', 3],
  ['request-reboot', 1],
  ['request-snapshot', 1],
] as const

test(
  'a kill during a download, its verification, an installation, a reboot, a snapshot or a restart repeats nothing',
  { timeout: 2 * WITHIN_MS },
  async () => {
    const { service, client } = world
    const killed = Promise.withResolvers<void>()
    let held = 0
    const chassis = await Promise.all(
      points.map(([operation, nth]) => {
        let count = 0
        const onRequest = async (name: string): Promise<void> => {
          if (name === operation) count += 1
          if (name !== operation || count !== nth) return
          held += 1
          await killed.promise
        }
        return addChassis({ onRequest })
      }),
    )
    const restarting = await addChassis({ onBoot: () => killed.promise })
    await client.call('POST', `${devices()}/${deviceIdOf(restarting.mac)}/restart`, { member: 2 })
    const body = {
      device_ids: chassis.map(({ mac }) => deviceIdOf(mac)),
      version: VERSION,
      reboot: true,
      snapshot: true,
    }
    const upgrade = (await client.call('POST', `${devices()}/upgrade`, body)) as AnyJson
    await waitUntil('all of them to work on their requests', () => held === points.length, WITHIN_MS)
    await waitUntil('the member to be away', () => restarting.chassis[2]?.isPresent === false, WITHIN_MS)
    await service.end('SIGKILL')
    killed.resolve()
    service.start()
    expect(await service.ready()).toBe(true)
    const ended = await waitUntil(
      'the end of the upgrade',
      async () => {
        const site = await readUpgrade(upgrade.upgrade_id)
        return ['completed', 'failed'].includes(site.status) ? site : null
      },
      WITHIN_MS,
    )
    await waitUntil('the end of the restart', async () => {
      const list = (await client.call('GET', `${devices()}/${deviceIdOf(restarting.mac)}/commands`)) as AnyJson
      return list[0].status === 'done'
    })
    expect(restarting.journal).toEqual(['reboot 2'])
    // It is unknown whether the last one has taken its snapshot, so the request is not repeated.
    const notes = [{ mac: chassis.at(-1)?.mac, reason: 'no recovery snapshot: gateway_lost' }]
    expect(ended).toMatchObject({ status: 'completed', targets: { failed: [] }, notes })
    for (const device of chassis) {
      expect(device.journal.toSorted()).toEqual([
        'file-copy',
        'package-add 0',
        'package-add 1',
        'package-add 2',
        'reboot',
        'snapshot',
      ])
      expect(device.chassis.map(({ active }) => active)).toEqual([VERSION, VERSION, VERSION])
    }
  },
)

async function readUpgrade(id: string): Promise<AnyJson> {
  return (await world.client.call('GET', `${devices()}/upgrade/${id}`)) as AnyJson
}
