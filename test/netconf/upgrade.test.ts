// Upgrades of Junos devices with the real interface, gateway, engine and downloads.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RolloutOptions, defaultRolloutOptions } from '../../src/rollout/rollout.ts'
import { advanceRollouts } from '../../src/rollout/worker.ts'
import { imageHeader } from '../../src/simulator/image.ts'
import type { JunosFault } from '../../src/simulator/junos/junos-device.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { waitUntil } from '../support/wait-until.ts'
import { type JunosWorld, models, startJunosWorld } from './junos-world.ts'

const VERSION = '23.4R2-S2.1'
const image = Buffer.concat([Buffer.from(imageHeader(Object.values(models), VERSION)), randomBytes(50_000)])
/** The limit of a reboot; that of the check of the version is shorter. */
const LIMIT_MS = 120_000
const options: RolloutOptions = {
  ...defaultRolloutOptions,
  soakMs: 0,
  retryMs: 5,
  maxAttempts: 1,
  rebootTimeoutMs: { ap: LIMIT_MS, switch: LIMIT_MS, gateway: LIMIT_MS, virtual_chassis: LIMIT_MS, cluster: LIMIT_MS },
  notAppliedMs: 30_000,
  installMs: 60_000,
  verifyTimeoutMs: 60_000,
  reconnectGraceMs: 0,
}

let world: JunosWorld
beforeAll(async () => {
  world = await startJunosWorld()
})
afterAll(() => world.close())

async function uploadImage(): Promise<void> {
  const { server, org } = world
  const query = `version=${VERSION}&models=${Object.values(models).join(',')}`
  const uploaded = await fetch(`${server.url}/api/v1/orgs/${org.orgId}/firmware?${query}`, {
    method: 'POST',
    headers: { authorization: `Token ${org.token}`, 'content-type': 'application/octet-stream' },
    body: new Uint8Array(image),
  })
  expect(uploaded.status).toBe(200)
}

async function createUpgrade(body: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const upgrade = { all_sites: true, strategy: 'big_bang', version: VERSION, ...body }
  await uploadImage()
  const answer = await world.call('POST', `/orgs/${world.org.orgId}/devices/upgrade`, upgrade)
  expect(answer).toMatchObject({ status: 200 })
  return String(answer.body.id)
}

async function readSite(id: string): Promise<AnyJson> {
  return (await world.call('GET', `/orgs/${world.org.orgId}/devices/upgrade/${id}`)).body.upgrades[0].upgrade
}

/** A round of the engine, after so much time. */
async function advance(stepMs = 1000): Promise<void> {
  world.clock.advance(stepMs)
  await advanceRollouts(world.server.ctx, options, new AbortController().signal)
}

/** Rounds of the engine, each a second later, until the device is the only one in that list. */
async function untilIn(id: string, bucket: string, stepMs = 1000): Promise<AnyJson> {
  return waitUntil(bucket, async () => {
    await advance(stepMs)
    const site = await readSite(id)
    return site.targets[bucket].length === 1 ? site : null
  })
}

/** Passes the time limit of the device once it is in that list and has carried out its last command. */
async function passLimit(id: string, bucket: string): Promise<void> {
  await untilIn(id, bucket)
  await waitUntil(
    'the end of the command',
    async () => !['queued', 'sent'].includes((await world.commands()).at(-1)?.state ?? ''),
  )
  // The engine takes note of it.
  await untilIn(id, bucket)
  world.clock.advance(LIMIT_MS)
}

describe('an upgrade of a Virtual Chassis', () => {
  test('downloads, waits for its time, installs member by member with the master last, and reboots once', async () => {
    const { device } = await world.start('virtual_chassis')
    const id = await createUpgrade({ reboot_at: world.clock.now().getTime() / 1000 + 3600 })
    expect(await untilIn(id, 'downloaded')).toMatchObject({ status: 'downloaded' })
    expect(device.journal).toEqual(['file-copy'])
    expect([...device.files.keys()]).toEqual([expect.stringMatching(/^\/var\/tmp\/signalbox-[0-9a-f]{16}\.tgz$/)])
    world.clock.advance(3_600_000)
    expect(await untilIn(id, 'upgraded')).toMatchObject({ status: 'completed' })
    expect(device.journal).toEqual(['file-copy', 'package-add 1', 'package-add 2', 'package-add 0', 'reboot'])
    const status = await world.status()
    expect(status.firmware).toBe(VERSION)
    expect(status.members?.map(({ firmware }) => firmware)).toEqual([VERSION, VERSION, VERSION])
    expect((await world.commands()).map(({ kind, state }) => [kind, state])).toEqual([
      ['stage', 'done'],
      ['activate', 'done'],
    ])
    expect((await world.commands())[1]?.progress).toEqual({ step: 'reboot' })
  })

  test.each<[string, JunosFault[], unknown[]]>([
    ['takes a recovery snapshot on each member once they all run the version', [], []],
    [
      'stays upgraded where a member takes none, and says so',
      ['snapshot_fails'],
      [
        {
          mac: expect.any(String),
          reason: expect.stringContaining('no recovery snapshot: fpc0: snapshot taken; fpc1: '),
        },
      ],
    ],
  ])('%s', async (_, faults, notes) => {
    const { device } = await world.start('virtual_chassis', faults)
    const id = await createUpgrade({ snapshot: true })
    await untilIn(id, 'upgraded')
    const ended = await waitUntil('the end', async () => {
      await advance()
      const site = await readSite(id)
      return site.status === 'upgrading' ? null : site
    })
    expect(ended).toMatchObject({ status: 'completed', targets: { upgraded: [world.mac] }, notes })
    expect(device.journal.slice(-2)).toEqual(['reboot', 'snapshot'])
    expect((await world.commands()).map(({ kind }) => kind)).toEqual(['stage', 'activate', 'snapshot'])
  })

  test('that reboots without a reply is upgraded all the same, and its reboot was on record before', async () => {
    let onRecord: unknown = null
    const onRequest = async (name: string): Promise<void> => {
      if (name === 'request-reboot') onRecord = (await world.commands()).at(-1)?.progress
    }
    await world.start('virtual_chassis', ['silent_reboot'], { onRequest })
    const id = await createUpgrade()
    expect(await untilIn(id, 'upgraded')).toMatchObject({ status: 'completed' })
    expect(onRecord).toEqual({ step: 'reboot' })
  })

  test('whose connection breaks during an installation is asked again, in vain until that has ended', async () => {
    const installed = Promise.withResolvers<void>()
    let packages = 0
    const onRequest = async (name: string): Promise<void> => {
      if (name !== 'request-package-add') return
      packages += 1
      if (packages !== 1) return
      junos.drop()
      await installed.promise
    }
    const junos = await world.start('virtual_chassis', [], { onRequest })
    const id = await createUpgrade()
    const refused = await waitUntil('two refusals', async () => {
      await advance()
      const busy = (await world.commands()).filter(({ state }) => state === 'rejected')
      return busy.length === 2 ? busy : null
    })
    expect(refused[0]?.outcome).toMatchObject({ code: 'busy', final: false })
    expect(junos.device.journal).toEqual(['file-copy'])
    installed.resolve()
    expect(await untilIn(id, 'upgraded')).toMatchObject({ status: 'completed' })
    expect(junos.device.journal).toEqual(['file-copy', 'package-add 1', 'package-add 2', 'package-add 0', 'reboot'])
  })

  test.each<[string, JunosFault, string | null]>([
    ['never returns', 'never_returns', 'reboot_in_progress'],
    ['returns with its old version', 'old_version', null],
    ['returns without one of its members', 'partial_chassis', 'rebooted'],
    ['refuses the package on a member', 'install_fails', null],
    ['stores another file than the image', 'bad_image', null],
  ])('fails when the device %s', async (_, fault, stuckIn) => {
    await world.start('virtual_chassis', [fault])
    const id = await createUpgrade()
    if (stuckIn !== null) await passLimit(id, stuckIn)
    expect(await untilIn(id, 'failed', 2000)).toMatchObject({ targets: { failed: [world.mac], upgraded: [] } })
  })

  test('names the member that refused the package, and those that took it', async () => {
    await world.start('virtual_chassis', ['install_fails'])
    const id = await createUpgrade()
    await untilIn(id, 'failed', 2000)
    expect((await world.commands()).at(-1)?.outcome).toMatchObject({
      code: 'install_failed',
      text:
        "Member 2: ERROR: not enough space (the device's package status: Installation of 23.4R2-S2.1 failed: " +
        'not enough space); Member 1: installed',
    })
  })
})

describe('an upgrade of an SRX cluster', () => {
  test('installs on both nodes with one request, and ends when both run the version', async () => {
    let onRecord: unknown = null
    const onRequest = async (name: string): Promise<void> => {
      if (name === 'request-package-in-service-upgrade') onRecord = (await world.commands()).at(-1)?.progress
    }
    const { device } = await world.start('cluster', [], { onRequest })
    const id = await createUpgrade({ device_type: 'gateway' })
    expect(await untilIn(id, 'upgraded')).toMatchObject({ status: 'completed', notes: [] })
    expect(device.journal).toEqual(['file-copy', 'in-service-upgrade'])
    expect(device.chassis.map(({ active }) => active)).toEqual([VERSION, VERSION])
    // The result of a request without a reply is unknown until the versions are read.
    expect(onRecord).toEqual({ step: 'reboot' })
    expect((await world.commands()).map(({ kind, state }) => [kind, state])).toEqual([
      ['stage', 'done'],
      ['activate', 'unknown'],
    ])
  })

  test.each<[string, JunosFault, string | null]>([
    ['of which a node does not return', 'partial_chassis', 'rebooted'],
    ['whose nodes return with the old version', 'old_version', null],
    ['that refuses the package', 'install_fails', null],
  ])('fails with a cluster %s', async (_, fault, stuckIn) => {
    await world.start('cluster', [fault])
    const id = await createUpgrade()
    if (stuckIn !== null) await passLimit(id, stuckIn)
    expect(await untilIn(id, 'failed', 2000)).toMatchObject({ targets: { failed: [world.mac], upgraded: [] } })
  })
})
