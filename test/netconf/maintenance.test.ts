// Restarts, restores and snapshots of Junos devices with the real interface and gateway.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { deviceIdOf } from '../../src/devices/device.ts'
import type { JunosFault } from '../../src/simulator/junos/junos-device.ts'
import { waitUntil } from '../support/wait-until.ts'
import { untilSession } from './harness.ts'
import { type JunosWorld, startJunosWorld } from './junos-world.ts'

let world: JunosWorld
beforeAll(async () => {
  world = await startJunosWorld()
})
afterAll(() => world.close())

describe('a Junos switch', () => {
  const path = (what: string): string => `/sites/${world.siteId}/devices/${deviceIdOf(world.mac)}/${what}`
  const ended = (kind: string) =>
    waitUntil(
      kind,
      async () =>
        (await world.commands()).find(
          ({ kind: other, state }) => other === kind && !['queued', 'sent'].includes(state),
        ) ?? null,
    )

  test('restarts one member, and none that it does not have', async () => {
    const { device } = await world.start('virtual_chassis')
    expect(await world.call('POST', path('restart'), { member: 2 })).toMatchObject({ status: 200 })
    await waitUntil('its return', async () => {
      world.clock.advance(5000)
      return (await world.commands()).some(({ kind, state }) => kind === 'restart' && state === 'done')
    })
    expect(device.journal).toEqual(['reboot 2'])
    await waitUntil('the record of its return', async () => (await world.status()).members?.length === 3)
    expect(await world.call('POST', path('restart'), { member: 5 })).toMatchObject({
      status: 400,
      body: { detail: 'The device has no member 5; its members are 0, 1, 2' },
    })
    expect((await world.status()).connected).toBe(true)
  })

  /**
   * Restores the backup version of a device that does not boot before its command has ended: the connection of a device
   * that boots in milliseconds may be recorded before its reply, which ends the command as lost until the reply follows.
   */
  async function restore(faults: readonly JunosFault[] = [], state = 'done') {
    const ending = Promise.withResolvers<void>()
    const { device } = await world.start('single', faults, { onBoot: () => ending.promise })
    onTestFinished(() => ending.resolve())
    const { epoch } = await untilSession(world.server, world.mac)
    expect(await world.call('POST', path('restore_backup_version'))).toMatchObject({ status: 200, body: {} })
    expect(await ended('restore_backup')).toMatchObject({ state })
    ending.resolve()
    await untilSession(world.server, world.mac, epoch)
    return device
  }

  test('restores the version that it ran before', async () => {
    const device = await restore()
    expect((await world.status()).firmware).toBe('21.4R3.15')
    expect(device.journal).toEqual(['package-rollback'])
    const happened = (await world.events()).filter((type) => /UPGRADE|RESTARTED/.test(type))
    expect(happened).toEqual(['SW_UPGRADE_BY_USER', 'SW_RESTARTED', 'SW_UPGRADED'])
  })

  test('that loses its connection instead of a reply has not accepted the restore, and shows by its version whether it has restored', async () => {
    await restore(['silent_reboot'], 'unknown')
    await waitUntil('the event', async () => (await world.events()).includes('SW_UPGRADED'))
    expect((await world.status()).firmware).toBe('21.4R3.15')
    // The record of the command says so too.
    expect(await ended('restore_backup')).toMatchObject({ state: 'done', outcome: { lost: 'connection_lost' } })
  })

  test('restores a whole Virtual Chassis', async () => {
    const { device } = await world.start('virtual_chassis')
    expect(await world.call('POST', path('restore_backup_version'))).toMatchObject({ status: 200 })
    await waitUntil('the event', async () => (await world.events()).includes('SW_UPGRADED'))
    expect((await world.status()).members?.map(({ firmware }) => firmware)).toEqual(Array(3).fill('21.4R3.15'))
    expect(device.journal).toEqual(['package-rollback'])
  })

  test('without a backup version is refused in the words of the contract, once the service knows it', async () => {
    const { device } = await world.start('virtual_chassis')
    for (const chassis of device.chassis) chassis.backup = null
    expect(await world.call('POST', path('restore_backup_version'))).toMatchObject({ status: 200 })
    expect(await ended('restore_backup')).toMatchObject({ state: 'rejected', outcome: { code: 'no_backup' } })
    await waitUntil('the event', async () => (await world.events()).includes('SW_UPGRADE_FAILED'))
    world.clock.advance(60_000)
    await waitUntil(
      'the device is asked again',
      async () => (await world.status()).capabilities.backup_version === undefined,
    )
    expect(await world.call('POST', path('restore_backup_version'))).toMatchObject({
      status: 400,
      body: 'no backup version',
    })
    expect(device.journal).toEqual([])
  })

  test('of a Virtual Chassis is refused while a member is absent', async () => {
    const { device } = await world.start('virtual_chassis')
    for (const chassis of device.chassis.slice(2)) chassis.isPresent = false
    world.clock.advance(60_000)
    await waitUntil(
      'the device is asked again',
      async () => !(await world.status()).capabilities.commands.includes('restore_backup'),
    )
    expect(await world.call('POST', path('restore_backup_version'))).toMatchObject({
      status: 400,
      body: 'member 2 is not present',
    })
    for (const chassis of device.chassis) chassis.isPresent = true
    world.clock.advance(60_000)
    await waitUntil('the member is back', async () => (await world.status()).capabilities.backup_version !== undefined)
    expect(await world.call('POST', path('restore_backup_version'))).toMatchObject({ status: 200 })
    await waitUntil('the event', async () => (await world.events()).includes('SW_UPGRADED'))
    expect(device.journal).toEqual(['package-rollback'])
  })

  test('that does not return with its backup version has failed to restore it', async () => {
    await restore(['old_version'])
    expect(await world.events()).not.toContain('SW_UPGRADED')
    world.clock.advance(3_700_000)
    await waitUntil('the event', async () => (await world.events()).includes('SW_UPGRADE_FAILED'))
  })

  test('that takes no recovery snapshot on a member says so', async () => {
    await world.start('virtual_chassis', ['snapshot_fails'])
    expect(await world.call('POST', path('snapshot'))).toMatchObject({ status: 200 })
    expect(await ended('snapshot')).toMatchObject({
      state: 'rejected',
      outcome: { text: expect.stringContaining('fpc2: ERROR: Not enough space') },
    })
    const snapshots = (await world.events()).filter((type) => type.includes('SNAPSHOT'))
    expect(snapshots).toEqual(['SW_RECOVERY_SNAPSHOT_REQUESTED', 'SW_RECOVERY_SNAPSHOT_FAILED'])
  })

  test('takes a recovery snapshot on each member', async () => {
    await world.start('virtual_chassis')
    expect(await world.call('POST', path('snapshot'))).toMatchObject({ status: 200, body: {} })
    expect(await ended('snapshot')).toMatchObject({
      state: 'done',
      outcome: { text: 'fpc0: snapshot taken; fpc1: snapshot taken; fpc2: snapshot taken' },
    })
    const snapshots = (await world.events()).filter((type) => type.includes('SNAPSHOT'))
    expect(snapshots).toEqual(['SW_RECOVERY_SNAPSHOT_REQUESTED', 'SW_RECOVERY_SNAPSHOT_SUCCEEDED'])
  })
})
