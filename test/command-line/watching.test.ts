import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocketServer } from 'ws'
import { createApi } from '../../src/client/api.ts'
import { watchUpgrade } from '../../src/client/commands/watch-upgrade.ts'
import type { Session } from '../../src/client/session.ts'
import { sweepFirmwareFiles } from '../../src/firmware/storage/storage.ts'
import { defaultRolloutOptions } from '../../src/rollout/rollout.ts'
import { advanceRollouts } from '../../src/rollout/worker.ts'
import { addSite, claimNewDevice, connectDevice } from '../support/fleets/devices.ts'
import { uploadPackage } from '../edge/upgrades/packages.ts'
import { addBox, playUpgrades, upgrade as upgradeBoxes } from '../edge/upgrades/upgrade-world.ts'
import { type Fleet, NEW, type SeededDevice, createFleet, seedOrg } from '../support/fleets/fleet.ts'
import { type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'
import { type Path, startPath } from './path.ts'
import { type Running, startSignalbox } from './run-signalbox.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
  await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
})
afterAll(() => server.close())

it('watches devices and sites that join later', async () => {
  const siteId = await addSite(server, 'North')
  const person = { url: server.url, token: server.org.token }
  const watching = await startSignalbox(person, ['devices', 'watch', '--refresh', '1'])
  await watching.told(/watching 0 devices at \d+ sites/)
  const first = await claimNewDevice(server, { siteId })
  expect(await watching.next()).toContain(`${first.mac}  `)
  const later = await addSite(server, 'South')
  const second = await claimNewDevice(server, { siteId: later })
  expect(await watching.next((line) => line.includes(second.mac))).toContain('disconnected')
  // The new site has a channel of its own.
  await connectDevice(server.ctx, second.mac, { firmware: '4.0.0' })
  expect(await watching.next((line) => line.includes('4.0.0'))).toContain(second.mac)
  expect(await watching.interrupt()).toBe(130)
})

describe('the progress of an upgrade', () => {
  interface Watching {
    readonly watching: Running
    readonly fleet: Fleet
    readonly devices: readonly SeededDevice[]
    readonly path: Path
    readonly act: (action: 'pause' | 'resume') => Promise<unknown>
    readonly advance: (answers: Parameters<Fleet['answer']>[0]) => Promise<void>
  }

  /** Watches an upgrade of three devices over a path. */
  async function start(
    name: string,
    prepare: (path: Path) => void = () => {},
    strategy = 'big_bang',
  ): Promise<Watching> {
    const admin: TestOrg = await server.addOrg(name)
    const org = await seedOrg(server.ctx, [{ devices: 3, name: 'Berlin' }], admin.orgId)
    const fleet = createFleet(server.ctx, [org])
    const devices = org.sites.flatMap((site) => site.devices)
    await fleet.connect(devices)
    const body = { site_ids: org.sites.map((site) => site.id), version: NEW, strategy }
    const { body: made } = await server.call('POST', `/orgs/${admin.orgId}/devices/upgrade`, { as: admin, body })
    const path = await startPath(server.url)
    prepare(path)
    const watching = await startSignalbox({ url: path.url, token: admin.token }, ['upgrade', 'watch', made.id])
    const options = { ...defaultRolloutOptions, soakMs: 0 }
    return {
      watching,
      fleet,
      devices,
      path,
      act: (action) => server.call('POST', `/orgs/${admin.orgId}/devices/upgrade/${made.id}/${action}`, { as: admin }),
      async advance(answers) {
        await advanceRollouts(server.ctx, options, new AbortController().signal)
        await fleet.answer(answers)
      },
    }
  }

  type Played = Pick<Watching, 'watching' | 'advance'>
  async function play(
    { watching, advance }: Played,
    reply: 'upgrades' | 'refuses_content' = 'upgrades',
  ): Promise<void> {
    const { child } = watching
    while (child.exitCode === null) await advance(() => reply)
  }

  it.each([
    ['by the stream', null],
    ['where no stream gets through', /upgrade: websocket/i],
  ])('has the reason why the upgrade waits and why it was stopped, %s', async (name, blocked) => {
    const parts = await start(name, (path) => path.block(blocked), 'serial')
    const { watching, act } = parts
    await watching.told(/ 0 % /)
    await act('pause')
    await watching.told(/\nwaiting: paused by .+\n/)
    await act('resume')
    await play(parts, 'refuses_content')
    await watching.told(
      /\nsignalbox: 3 of 3 devices were not upgraded: more than 5 % of 3 devices in all sites failed\n$/,
    )
    expect(watching.child.exitCode).toBe(6)
  })

  it('arrives by the stream, without reading the upgrade again', async () => {
    const { watching, path, advance } = await start('Live')
    await watching.told(/ 0 % {2}3 (scheduled|download requested)/)
    // The first change that is heard shows that the stream has begun.
    await advance(() => 'upgrades')
    await watching.told(/ 0 % {2}3 (?!scheduled)/)
    path.block(/GET \/api\/v1\/orgs/)
    await advance(() => 'upgrades')
    await advance(() => 'upgrades')
    await watching.told(/100 % {2}3 upgraded/)
    // Only the result at the end is read, once the server answers again.
    await watching.told(/connection lost: .*retrying/)
    path.block(null)
    await play({ watching, advance })
    expect(watching.child.exitCode).toBe(0)
    expect(watching.lines).toEqual(['3 of 3 upgraded'])
  })

  it.each([
    ['by the stream', null],
    ['where no stream gets through', /upgrade: websocket/i],
  ])('says for how many devices it waits that are offline, %s', async (name, blocked) => {
    const parts = await start(`Offline ${name}`, (path) => path.block(blocked))
    const { watching, fleet, devices, advance } = parts
    await watching.told(/ 0 % /)
    const absent = devices.slice(0, 1)
    await fleet.disconnect(absent)
    for (let rounds = 0; rounds < 6; rounds += 1) await advance(() => 'upgrades')
    await watching.told(/\nwaiting: 1 device is offline\n/)
    await fleet.connect(absent)
    await play(parts)
    expect(watching.lines).toEqual(['3 of 3 upgraded'])
  })

  it('is read again and again where no stream gets through', async () => {
    const parts = await start('Polled', (path) => path.block(/upgrade: websocket/i))
    await parts.watching.told(/ 0 % /)
    await play(parts)
    expect(parts.watching.child.exitCode).toBe(0)
    expect(parts.watching.lines).toEqual(['3 of 3 upgraded'])
  })

  it.each([
    ['the organization', '/orgs/one/devices/upgrade', {}],
    ['a site', '/sites/one/devices/upgrade', { site_upgrade_id: 'part' }],
  ])('of %s ends with its last bar, whatever the stream brought behind it', async (_place, channel, part) => {
    const id = 'one'
    const answer = { upgrades: [{ upgrade: { status: 'completed', targets: { total: 1, upgraded: ['a'] } } }] }
    let reads = 0
    const waiting = { upgrades: [{ upgrade: { status: 'queued', targets: { total: 1, scheduled: ['a'] } } }] }
    const peer = createServer(({ url = '' }, response) => {
      if (!url.includes('/report')) reads += 1
      response.end(JSON.stringify(reads < 3 ? waiting : answer))
    })
    const sockets = new WebSocketServer({ server: peer })
    sockets.on('connection', (socket) =>
      socket.once('message', () => {
        socket.send(JSON.stringify({ event: 'channel_subscribed', channel, seq: 1 }))
        for (const [state, status] of [
          ['upgraded', 'completed'],
          ['scheduled', 'running'],
        ] as const) {
          const data = { upgrade_id: id, ...part, status, counts: { total: 1, [state]: 1 } }
          socket.send(JSON.stringify({ event: 'data', channel, seq: 2, data }))
        }
      }),
    )
    peer.listen(0, '127.0.0.1')
    await once(peer, 'listening')
    const { port } = peer.address() as AddressInfo
    const api = createApi({ url: `http://127.0.0.1:${port}`, headers: {} })
    const bars: string[] = []
    const shown: string[] = []
    const output = {
      ...{ tell: () => {}, endProgress: () => {}, isLive: false },
      progress: (line: string) => void bars.push(line),
      show: (_value: unknown, text: () => string) => void shown.push(text()),
    }
    const interrupted = new AbortController().signal
    const session = { output, interrupted } as unknown as Session
    await watchUpgrade(session, api, { kind: 'device', id, channel, path: '/one' })
    await api.close()
    for (const socket of sockets.clients) socket.terminate()
    peer.close()
    expect([bars.at(-1), shown]).toEqual([expect.stringContaining('100 %'), ['1 of 1 upgraded']])
    expect(reads).toBe(3)
  })

  it('of edge appliances names what it waits for', async () => {
    await uploadPackage(server, '2.0.0')
    const box = await addBox(server)
    await server.ctx.db.updateTable('mxedgeSession').set({ connected: false }).execute()
    const { id } = await upgradeBoxes(server, { mxedge_ids: [box], versions: { tunterm: '2.0.0' } })
    await playUpgrades(server, [], server.org.orgId)
    const person = { url: server.url, token: server.org.token }
    const watching = await startSignalbox(person, ['upgrade', 'watch', id])
    await watching.told(/waiting: 1 edge appliance is offline/)
    await server.ctx.db.updateTable('mxedgeSession').set({ connected: true }).execute()
    await playUpgrades(server, [], server.org.orgId)
    expect(await watching.next()).toBe('1 of 1 upgraded')
  })

  it('ends with the refusal of an unknown upgrade', async () => {
    const person = { url: server.url, token: server.org.token }
    const { child } = await startSignalbox(person, ['upgrade', 'watch', '00000000-0000-4000-8000-000000000000'])
    const [code] = await once(child, 'close')
    expect(code).toBe(4)
  })
})
