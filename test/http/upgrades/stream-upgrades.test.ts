import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sweepFirmwareFiles } from '../../../src/firmware/storage/storage.ts'
import { defaultRolloutOptions } from '../../../src/rollout/rollout.ts'
import { advanceRollouts } from '../../../src/rollout/worker.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { type MadeDevice, addSite, claimNewDevices, connectDevice } from '../../support/fleets/devices.ts'
import { type TestOrg, type TestServer, startTestServer } from '../../support/servers/server.ts'
import { type StreamClient, openStream } from '../../support/peers/stream-client.ts'

// Without a worker upgrades stay queued.
let server: TestServer
let siteId: string
let devices: readonly MadeDevice[]
let path: string
beforeAll(async () => {
  server = await startTestServer()
  await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
  path = `/orgs/${server.org.orgId}/devices/upgrade`
  for (const models of ['AP45', 'SSR120'])
    await server.call('POST', `/orgs/${server.org.orgId}/firmware?version=2.0.0&models=${models}&tag=stable`, {
      body: models,
      headers: { 'content-type': 'application/octet-stream' },
    })
})
afterAll(() => server.close())
beforeEach(async () => {
  siteId = await addSite(server)
  devices = await connected(2, 'AP45')
})

async function connected(count: number, model: string): Promise<readonly MadeDevice[]> {
  const made = await claimNewDevices(server, count, { siteId, model })
  const type = model.startsWith('SSR') ? 'gateway' : 'ap'
  for (const { mac } of made) await connectDevice(server.ctx, mac, { firmware: '1.0.0', model, type })
  return made
}

const open = ({ token }: TestOrg = server.org): Promise<StreamClient> =>
  openStream(server.url, { authorization: `Token ${token}` })
const create = async (body: object = {}): Promise<string> =>
  (await server.call('POST', path, { body: { site_ids: [siteId], version: '2.0.0', ...body } })).body.id
const change = (id: string, verb: string) => server.call('POST', `${path}/${id}/${verb}`)
const aboutSite = ({ data }: AnyJson): boolean => data?.site_upgrade_id !== undefined
const aboutAll = ({ data }: AnyJson): boolean => data !== undefined && !aboutSite({ data })
const none = {
  ...{ scheduled: 0, download_requested: 0, downloading: 0, downloaded: 0, reboot_in_progress: 0 },
  ...{ rebooted: 0, upgraded: 0, failed: 0, skipped: 0, cancelled: 0 },
}

describe('the stream', () => {
  it('sends the progress of upgrades to the organization and to their site, without devices', async () => {
    const client = await open()
    const channel = `/sites/${siteId}/devices/upgrade`
    for (const name of [path, channel])
      expect(await client.subscribe(name)).toMatchObject({ event: 'channel_subscribed' })
    const id = await create({ strategy: 'canary', canary_phases: [50, 100] })
    const whole = await client.next(aboutAll)
    expect(whole).toEqual({
      event: 'data',
      channel: path,
      seq: expect.any(Number),
      data: {
        upgrade_id: id,
        status: 'queued',
        sites: 1,
        counts: { ...none, scheduled: 2, total: 2 },
        phase: 1,
        phases: [
          { phase: 1, total: 1, upgraded: 0, hard_failures: 0 },
          { phase: 2, total: 1, upgraded: 0, hard_failures: 0 },
        ],
      },
    })
    await advanceRollouts(server.ctx, defaultRolloutOptions, new AbortController().signal)
    const begun = await client.next(({ channel: name, data }) => name === channel && data?.status === 'downloading')
    expect(begun.data).toEqual({
      upgrade_id: id,
      site_upgrade_id: expect.any(String),
      site_id: siteId,
      status: 'downloading',
      phase: 1,
      phase_upgraded: 0,
      phase_hard_failures: 0,
      counts: { ...none, scheduled: 1, download_requested: 1, total: 2 },
    })
    for (const { mac } of devices) expect(JSON.stringify([whole, begun])).not.toContain(mac)
    await change(id, 'pause')
    expect((await client.next((message) => aboutAll(message) && message.data.held !== undefined)).data).toMatchObject({
      upgrade_id: id,
      held: { by: 'user' },
    })
    await change(id, 'cancel')
    expect((await client.next((message) => aboutAll(message) && message.data.held === undefined)).data).toMatchObject({
      upgrade_id: id,
      status: 'running',
    })
  })

  it('sends upgrades of SSR routers on separate channels of the organization and of the site', async () => {
    const [router] = await connected(1, 'SSR120')
    const client = await open()
    const own = `/orgs/${server.org.orgId}/ssr/upgrade`
    for (const name of [path, own]) await client.subscribe(name)
    const { body } = await server.call('POST', own, { body: { device_ids: [router?.id], version: '2.0.0' } })
    const told = await client.next(({ data }) => data?.upgrade_id === body.id)
    expect(told).toMatchObject({ channel: own, data: { counts: { total: 1 } } })
    const other = await create()
    expect(await client.next(({ data }) => data?.upgrade_id === other)).toMatchObject({ channel: path })
    expect(client.received.some(({ channel, data }) => channel === path && data?.upgrade_id === body.id)).toBe(false)
    const here = `/sites/${siteId}/ssr/upgrade`
    await client.subscribe(here)
    await server.call('POST', `${here}/${body.id}/pause`)
    expect(await client.next(({ channel }) => channel === here)).toMatchObject({
      data: { upgrade_id: body.id, site_id: siteId, held: { by: 'user' } },
    })
  })

  it('sends nothing to callers who may not list the upgrades', async () => {
    const client = await open(await server.addOrg())
    for (const name of [path, `/sites/${siteId}/devices/upgrade`])
      expect(await client.subscribe(name)).toMatchObject({ event: 'subscribe_failed' })
  })
})
