import { expect, it, onTestFinished } from 'vitest'
import type { PlannedDevice } from '../../src/simulator/fleet-plan.ts'
import { imageHeader } from '../../src/simulator/image.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { claimDevices, startDevices, startService } from '../support/servers/service.ts'
import { waitUntil } from '../support/wait-until.ts'

const MODEL = 'EAP101'
const ap: PlannedDevice = { mac: '02000000d001', serial: 'S1', model: MODEL, type: 'ap', firmware: '1.0.0' }

it("upgrades an access point over https with a self-signed certificate that only the device's own CA vouches for", async () => {
  const service = await startService({ SIGNALBOX_TLS: 'self-signed' })
  const { org, client } = await claimDevices(service, [ap])
  const fleet = await startDevices(service, [ap])
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
  await waitUntil('the access point is back with the new version', upgraded)
  expect(fleet.devices.get(ap.mac)?.counts).toMatchObject({ downloads: 1, flashes: 1, boots: 1 })
})
