import { expect, it, onTestFinished } from 'vitest'
import type { PlannedDevice } from '../../src/simulator/fleet-plan.ts'
import { imageHeader } from '../../src/simulator/image.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { type ClaimedSite, claimDevices, startDevices, startService } from '../support/servers/service.ts'
import { waitUntil } from '../support/wait-until.ts'

const ap: PlannedDevice = { mac: '02000000d101', serial: 'S1', model: 'EAP101', type: 'ap', firmware: '1.0.0' }
const sw: PlannedDevice = { mac: '02000000d102', serial: 'S2', model: 'ECS4125-10P', type: 'switch', firmware: '1.0.0' }

/** Starts the service, and the devices at a site of it. */
async function startSite(devices: readonly PlannedDevice[]): Promise<ClaimedSite> {
  const service = await startService()
  const claimed = await claimDevices(service, devices)
  const fleet = await startDevices(service, devices)
  onTestFinished(() => fleet.stop())
  return claimed
}

/**
 * The loop of a published client: start the upgrade, watch `status_id` change after the first look, wait for 100 percent,
 * then for a boot after the start into the requested version.
 */
async function upgradeAsClientsDo({ client, site }: ClaimedSite, deviceId: string): Promise<readonly number[]> {
  const stats = async (): Promise<AnyJson> => (await client.call('GET', `${site}/stats/devices/${deviceId}`)) as AnyJson
  const startMs = performance.now()
  const body = { version: '2.0.0', reboot: true, snapshot: false }
  const answer = (await client.call('POST', `${site}/devices/${deviceId}/upgrade`, body)) as AnyJson
  expect(answer).toMatchObject({ status: 'starting', timestamp: expect.any(Number) })
  const first = await stats()
  const progress: number[] = []
  await waitUntil('the upgrade is over', async () => {
    const { fwupdate } = await stats()
    expect(fwupdate.status).not.toBe('failed')
    if (fwupdate.status_id === first.fwupdate.status_id) return false
    progress.push(fwupdate.progress)
    return fwupdate.progress === 100
  })
  await waitUntil('the device has booted after the start', async () => {
    const { uptime = 0, version } = await stats()
    return uptime > 0 && uptime < (performance.now() - startMs) / 1000 && version === '2.0.0'
  })
  return progress
}

const devices = [ap, sw]

it('upgrades single devices, in the loop of published clients', { timeout: 120_000 }, async () => {
  const claimed = await startSite(devices)
  const { client, org, site } = claimed
  const models = devices.map(({ model }) => model)
  const image = Buffer.from(imageHeader(models, '2.0.0').padEnd(100_000, '.'))
  await client.upload(`${org}/firmware?version=2.0.0&models=${models.join()}`, image)
  const list = async () => (await client.call('GET', `${site}/stats/devices?type=all`)) as AnyJson[]
  await waitUntil('both are connected', async () => (await list()).every(({ status }) => status === 'connected'))
  for (const { id, type } of await list()) {
    const progress = await upgradeAsClientsDo(claimed, id)
    expect(progress).toEqual(progress.toSorted((a, b) => a - b))
    const stats = (await client.call('GET', `${site}/stats/devices/${id}`)) as AnyJson
    expect(stats.fwupdate).toMatchObject({ progress: 100, status: 'success', will_retry: false })
    // Typed clients decode no statistics of a switch without these fields.
    const fields = ['config_timestamp', 'config_version', 'tag_id', 'tag_uuid'].filter((name) => name in stats)
    expect(fields).toHaveLength(type === 'switch' ? 4 : 0)
  }
  const upgrades = (await client.call('GET', `${site}/devices/upgrade`)) as AnyJson[]
  expect(upgrades.map(({ status, counts }) => [status, counts.upgraded])).toEqual([
    ['completed', 1],
    ['completed', 1],
  ])
})

it('stages, activates, restores and snapshots a switch that offers it', { timeout: 120_000 }, async () => {
  const capable: PlannedDevice = { ...sw, methods: ['stage', 'activate', 'restore_backup', 'snapshot'] }
  const claimed = await startSite([capable])
  const { client, org, site } = claimed
  const image = Buffer.from(imageHeader([sw.model], '2.0.0').padEnd(100_000, '.'))
  await client.upload(`${org}/firmware?version=2.0.0&models=${sw.model}`, image)
  const id = `00000000-0000-0000-1000-${sw.mac}`
  const stats = async (): Promise<AnyJson> => (await client.call('GET', `${site}/stats/devices/${id}`)) as AnyJson
  const isBackWith = (version: string) => async (): Promise<boolean> => {
    const { status, version: runs } = await stats()
    return status === 'connected' && runs === version
  }
  await waitUntil('it is connected', isBackWith('1.0.0'))
  const restore = () => client.call('POST', `${site}/devices/${id}/restore_backup_version`)
  await expect(restore()).rejects.toThrow('no backup version')
  await upgradeAsClientsDo(claimed, id)
  await waitUntil('it is back', isBackWith('2.0.0'))
  await restore()
  await waitUntil('it is back with the former version', isBackWith('1.0.0'))
  await client.call('POST', `${site}/devices/${id}/snapshot`)
  const events = async (): Promise<string[]> => {
    const found = (await client.call('GET', `${site}/devices/events/search?limit=100&duration=1h`)) as AnyJson
    return found.results.map(({ type }: AnyJson) => type)
  }
  await waitUntil('the snapshot', async () => (await events()).includes('SW_RECOVERY_SNAPSHOT_SUCCEEDED'))
  expect((await events()).filter((type) => type === 'SW_UPGRADED')).toHaveLength(2)
})
