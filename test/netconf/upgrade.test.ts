// Upgrades, restores and snapshots of Junos devices with the real interface, gateway, engine and downloads.
import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { deviceIdOf } from '../../src/devices/device.ts'
import { sweepFirmwareFiles } from '../../src/firmware/storage/storage.ts'
import { type Gateway, startGateway } from '../../src/gateway/start-gateway.ts'
import { type RolloutOptions, defaultRolloutOptions } from '../../src/rollout/rollout.ts'
import { advanceRollouts } from '../../src/rollout/worker.ts'
import { imageHeader } from '../../src/simulator/image.ts'
import type { JunosFault, JunosForm } from '../../src/simulator/junos/junos-device.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { seedOrg } from '../support/fleets/fleet.ts'
import { type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'
import { waitUntil } from '../support/wait-until.ts'
import { type JunosStart, type TestJunos, startJunos, testNetconf, untilSession } from './harness.ts'

const models = { switch: 'EX4100-48P', gateway: 'SRX345' } as const
const OLD = '22.4R3.25'
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

let clock: TestClock
let server: TestServer
let gateway: Gateway
let org: TestOrg
let mac: string
let siteId: string
beforeAll(async () => {
  clock = createTestClock()
  server = await startTestServer(clock)
  await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
  gateway = await startGateway(server.ctx, {
    protocols: [testNetconf(server.ctx)],
    nodeId: randomUUID(),
    monotonicMs: () => clock.now().getTime(),
    limits: { tickMs: 10, sweepMs: 20 },
  })
})
afterAll(async () => {
  await gateway.stop()
  await server.close()
})
beforeEach(async () => {
  org = await server.addOrg()
})

async function start(
  form: JunosForm,
  faults: readonly JunosFault[] = [],
  call: JunosStart['call'] = {},
): Promise<TestJunos> {
  const type = form === 'cluster' ? 'gateway' : 'switch'
  const { sites } = await seedOrg(server.ctx, [{ devices: 1, model: models[type], type }], org.orgId)
  mac = sites[0]?.devices[0]?.mac ?? ''
  siteId = sites[0]?.id ?? ''
  const device = { mac, model: models[type].toLowerCase(), form, faults, version: OLD }
  const junos = startJunos({ ...device, port: gateway.portOf('junos'), ctx: server.ctx, orgId: org.orgId, call })
  await untilSession(server, mac)
  return junos
}

async function uploadImage(): Promise<void> {
  const query = `version=${VERSION}&models=${Object.values(models).join(',')}`
  const uploaded = await fetch(`${server.url}/api/v1/orgs/${org.orgId}/firmware?${query}`, {
    method: 'POST',
    headers: { authorization: `Token ${org.token}`, 'content-type': 'application/octet-stream' },
    body: new Uint8Array(image),
  })
  expect(uploaded.status).toBe(200)
}

const call = (method: string, path: string, body?: unknown) => server.call(method, path, { body, as: org })

async function createUpgrade(body: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const upgrade = { all_sites: true, strategy: 'big_bang', version: VERSION, ...body }
  await uploadImage()
  const answer = await call('POST', `/orgs/${org.orgId}/devices/upgrade`, upgrade)
  expect(answer).toMatchObject({ status: 200 })
  return String(answer.body.id)
}

async function readSite(id: string): Promise<AnyJson> {
  return (await call('GET', `/orgs/${org.orgId}/devices/upgrade/${id}`)).body.upgrades[0].upgrade
}

/** Rounds of the engine, each a second later, until the device is the only one in that list. */
async function untilIn(id: string, bucket: string, stepMs = 1000): Promise<AnyJson> {
  return waitUntil(bucket, async () => {
    clock.advance(stepMs)
    await advanceRollouts(server.ctx, options, new AbortController().signal)
    const site = await readSite(id)
    return site.targets[bucket].length === 1 ? site : null
  })
}

/** Passes the time limit of the device once it is in that list and has carried out its last command. */
async function passLimit(id: string, bucket: string): Promise<void> {
  await untilIn(id, bucket)
  await waitUntil(
    'the end of the command',
    async () => !['queued', 'sent'].includes((await commands()).at(-1)?.state ?? ''),
  )
  // The engine takes note of it.
  await untilIn(id, bucket)
  clock.advance(LIMIT_MS)
}

const statusOf = () =>
  server.ctx.db.selectFrom('deviceStatus').selectAll().where('deviceId', '=', deviceIdOf(mac)).executeTakeFirstOrThrow()
const commands = () =>
  server.ctx.db
    .selectFrom('deviceCommand')
    .select(['kind', 'state', 'outcome', 'progress'])
    .where('deviceId', '=', deviceIdOf(mac))
    .orderBy('id')
    .execute()
const events = async () => {
  const query = server.ctx.db.selectFrom('deviceEvent').select('type').where('deviceId', '=', deviceIdOf(mac))
  const rows = await query.orderBy('id').execute()
  return rows.map(({ type }) => type)
}

describe('an upgrade of a Virtual Chassis', () => {
  test('downloads, waits for its time, installs member by member with the master last, and reboots once', async () => {
    const { device } = await start('virtual_chassis')
    const id = await createUpgrade({ reboot_at: clock.now().getTime() / 1000 + 3600 })
    expect(await untilIn(id, 'downloaded')).toMatchObject({ status: 'downloaded' })
    expect(device.journal).toEqual(['file-copy'])
    expect([...device.files.keys()]).toEqual([expect.stringMatching(/^\/var\/tmp\/signalbox-[0-9a-f]{16}\.tgz$/)])
    clock.advance(3_600_000)
    expect(await untilIn(id, 'upgraded')).toMatchObject({ status: 'completed' })
    expect(device.journal).toEqual(['file-copy', 'package-add 1', 'package-add 2', 'package-add 0', 'reboot'])
    const status = await statusOf()
    expect(status.firmware).toBe(VERSION)
    expect(status.members?.map(({ firmware }) => firmware)).toEqual([VERSION, VERSION, VERSION])
    expect((await commands()).map(({ kind, state }) => [kind, state])).toEqual([
      ['stage', 'done'],
      ['activate', 'done'],
    ])
    expect((await commands())[1]?.progress).toEqual({ step: 'reboot' })
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
    const { device } = await start('virtual_chassis', faults)
    const id = await createUpgrade({ snapshot: true })
    await untilIn(id, 'upgraded')
    const ended = await waitUntil('the end', async () => {
      clock.advance(1000)
      await advanceRollouts(server.ctx, options, new AbortController().signal)
      const site = await readSite(id)
      return site.status === 'upgrading' ? null : site
    })
    expect(ended).toMatchObject({ status: 'completed', targets: { upgraded: [mac] }, notes })
    expect(device.journal.slice(-2)).toEqual(['reboot', 'snapshot'])
    expect((await commands()).map(({ kind }) => kind)).toEqual(['stage', 'activate', 'snapshot'])
  })

  test('that reboots without a reply is upgraded all the same, and its reboot was on record before', async () => {
    let onRecord: unknown = null
    const onRequest = async (name: string): Promise<void> => {
      if (name === 'request-reboot') onRecord = (await commands()).at(-1)?.progress
    }
    await start('virtual_chassis', ['silent_reboot'], { onRequest })
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
    const junos = await start('virtual_chassis', [], { onRequest })
    const id = await createUpgrade()
    const refused = await waitUntil('two refusals', async () => {
      clock.advance(1000)
      await advanceRollouts(server.ctx, options, new AbortController().signal)
      const busy = (await commands()).filter(({ state }) => state === 'rejected')
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
    await start('virtual_chassis', [fault])
    const id = await createUpgrade()
    if (stuckIn !== null) await passLimit(id, stuckIn)
    expect(await untilIn(id, 'failed', 2000)).toMatchObject({ targets: { failed: [mac], upgraded: [] } })
  })

  test('names the member that refused the package, and those that took it', async () => {
    await start('virtual_chassis', ['install_fails'])
    const id = await createUpgrade()
    await untilIn(id, 'failed', 2000)
    expect((await commands()).at(-1)?.outcome).toMatchObject({
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
      if (name === 'request-package-in-service-upgrade') onRecord = (await commands()).at(-1)?.progress
    }
    const { device } = await start('cluster', [], { onRequest })
    const id = await createUpgrade({ device_type: 'gateway' })
    expect(await untilIn(id, 'upgraded')).toMatchObject({ status: 'completed', notes: [] })
    expect(device.journal).toEqual(['file-copy', 'in-service-upgrade'])
    expect(device.chassis.map(({ active }) => active)).toEqual([VERSION, VERSION])
    // The result of a request without a reply is unknown until the versions are read.
    expect(onRecord).toEqual({ step: 'reboot' })
    expect((await commands()).map(({ kind, state }) => [kind, state])).toEqual([
      ['stage', 'done'],
      ['activate', 'unknown'],
    ])
  })

  test.each<[string, JunosFault, string | null]>([
    ['of which a node does not return', 'partial_chassis', 'rebooted'],
    ['whose nodes return with the old version', 'old_version', null],
    ['that refuses the package', 'install_fails', null],
  ])('fails with a cluster %s', async (_, fault, stuckIn) => {
    await start('cluster', [fault])
    const id = await createUpgrade()
    if (stuckIn !== null) await passLimit(id, stuckIn)
    expect(await untilIn(id, 'failed', 2000)).toMatchObject({ targets: { failed: [mac], upgraded: [] } })
  })
})

describe('a Junos switch', () => {
  const path = (what: string): string => `/sites/${siteId}/devices/${deviceIdOf(mac)}/${what}`
  const ended = (kind: string) =>
    waitUntil(
      kind,
      async () =>
        (await commands()).find(({ kind: other, state }) => other === kind && !['queued', 'sent'].includes(state)) ??
        null,
    )

  test('restarts one member, and none that it does not have', async () => {
    const { device } = await start('virtual_chassis')
    expect(await call('POST', path('restart'), { member: 2 })).toMatchObject({ status: 200 })
    await waitUntil('its return', async () => {
      clock.advance(5000)
      return (await commands()).some(({ kind, state }) => kind === 'restart' && state === 'done')
    })
    expect(device.journal).toEqual(['reboot 2'])
    await waitUntil('the record of its return', async () => (await statusOf()).members?.length === 3)
    expect(await call('POST', path('restart'), { member: 5 })).toMatchObject({
      status: 400,
      body: { detail: 'The device has no member 5; its members are 0, 1, 2' },
    })
    expect((await statusOf()).connected).toBe(true)
  })

  /**
   * Restores the backup version of a device that does not boot before its command has ended: the connection of a device
   * that boots in milliseconds may be recorded before its reply, which ends the command as lost until the reply follows.
   */
  async function restore(faults: readonly JunosFault[] = []) {
    const ending = Promise.withResolvers<void>()
    const { device } = await start('single', faults, { onBoot: () => ending.promise })
    onTestFinished(() => ending.resolve())
    const { epoch } = await untilSession(server, mac)
    expect(await call('POST', path('restore_backup_version'))).toMatchObject({ status: 200, body: {} })
    expect(await ended('restore_backup')).toMatchObject({ state: 'done' })
    ending.resolve()
    await untilSession(server, mac, epoch)
    return device
  }

  test('restores the version that it ran before', async () => {
    const device = await restore()
    expect((await statusOf()).firmware).toBe('21.4R3.15')
    expect(device.journal).toEqual(['package-rollback'])
    const happened = (await events()).filter((type) => /UPGRADE|RESTARTED/.test(type))
    expect(happened).toEqual(['SW_UPGRADE_BY_USER', 'SW_RESTARTED', 'SW_UPGRADED'])
  })

  test('restores a whole Virtual Chassis', async () => {
    const { device } = await start('virtual_chassis')
    expect(await call('POST', path('restore_backup_version'))).toMatchObject({ status: 200 })
    await waitUntil('the event', async () => (await events()).includes('SW_UPGRADED'))
    expect((await statusOf()).members?.map(({ firmware }) => firmware)).toEqual(Array(3).fill('21.4R3.15'))
    expect(device.journal).toEqual(['package-rollback'])
  })

  test('without a backup version is refused in the words of the contract, once the service knows it', async () => {
    const { device } = await start('virtual_chassis')
    for (const chassis of device.chassis) chassis.backup = null
    expect(await call('POST', path('restore_backup_version'))).toMatchObject({ status: 200 })
    expect(await ended('restore_backup')).toMatchObject({ state: 'rejected', outcome: { code: 'no_backup' } })
    await waitUntil('the event', async () => (await events()).includes('SW_UPGRADE_FAILED'))
    clock.advance(60_000)
    await waitUntil(
      'the device is asked again',
      async () => (await statusOf()).capabilities.backup_version === undefined,
    )
    expect(await call('POST', path('restore_backup_version'))).toMatchObject({
      status: 400,
      body: 'no backup version',
    })
    expect(device.journal).toEqual([])
  })

  test('of a Virtual Chassis is refused while a member is absent', async () => {
    const { device } = await start('virtual_chassis')
    for (const chassis of device.chassis.slice(2)) chassis.isPresent = false
    clock.advance(60_000)
    await waitUntil(
      'the device is asked again',
      async () => !(await statusOf()).capabilities.commands.includes('restore_backup'),
    )
    expect(await call('POST', path('restore_backup_version'))).toMatchObject({
      status: 400,
      body: 'member 2 is not present',
    })
    for (const chassis of device.chassis) chassis.isPresent = true
    clock.advance(60_000)
    await waitUntil('the member is back', async () => (await statusOf()).capabilities.backup_version !== undefined)
    expect(await call('POST', path('restore_backup_version'))).toMatchObject({ status: 200 })
    await waitUntil('the event', async () => (await events()).includes('SW_UPGRADED'))
    expect(device.journal).toEqual(['package-rollback'])
  })

  test('that does not return with its backup version has failed to restore it', async () => {
    await restore(['old_version'])
    expect(await events()).not.toContain('SW_UPGRADED')
    clock.advance(3_700_000)
    await waitUntil('the event', async () => (await events()).includes('SW_UPGRADE_FAILED'))
  })

  test('that takes no recovery snapshot on a member says so', async () => {
    await start('virtual_chassis', ['snapshot_fails'])
    expect(await call('POST', path('snapshot'))).toMatchObject({ status: 200 })
    expect(await ended('snapshot')).toMatchObject({
      state: 'rejected',
      outcome: { text: expect.stringContaining('fpc2: ERROR: Not enough space') },
    })
    const snapshots = (await events()).filter((type) => type.includes('SNAPSHOT'))
    expect(snapshots).toEqual(['SW_RECOVERY_SNAPSHOT_REQUESTED', 'SW_RECOVERY_SNAPSHOT_FAILED'])
  })

  test('takes a recovery snapshot on each member', async () => {
    await start('virtual_chassis')
    expect(await call('POST', path('snapshot'))).toMatchObject({ status: 200, body: {} })
    expect(await ended('snapshot')).toMatchObject({
      state: 'done',
      outcome: { text: 'fpc0: snapshot taken; fpc1: snapshot taken; fpc2: snapshot taken' },
    })
    const snapshots = (await events()).filter((type) => type.includes('SNAPSHOT'))
    expect(snapshots).toEqual(['SW_RECOVERY_SNAPSHOT_REQUESTED', 'SW_RECOVERY_SNAPSHOT_SUCCEEDED'])
  })
})
