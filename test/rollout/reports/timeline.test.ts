import { expect, it } from 'vitest'
import { RESTORE_TEXT } from '../../../src/devices/commands/command.ts'
import { appendDeviceEvents } from '../../../src/events/append.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { retryOrgUpgrade } from '../../../src/upgrades/changes/retry-org-upgrade.ts'
import { getUpgradeTarget } from '../../../src/upgrades/targets/store.ts'
import { presentUpgradeTargetDetail } from '../../../src/upgrades/targets/wire.ts'
import { NEW, OLD, type SeededDevice } from '../../support/fleets/fleet.ts'
import { useRollout } from '../harness.ts'

const rollout = useRollout()

async function detailOf(id: string, mac: string) {
  const { ctx, org } = rollout
  const { timeline, ...detail } = presentUpgradeTargetDetail(await getUpgradeTarget(ctx.db, org.scope, { id, mac }))
  return { ...detail, lines: timeline.map(({ kind, what, cause }) => `${kind} ${what}: ${cause}`), timeline }
}

async function seedOne(): Promise<SeededDevice> {
  const [device] = await rollout.seed([1])
  if (device === undefined) throw new Error('no device')
  return device
}

/** The upgrade of a device that has failed a minute ago, and how its timeline was then. */
async function failOne() {
  const device = await seedOne()
  const { id } = await rollout.create()
  await rollout.play(() => 'refuses_content')
  const failed = await detailOf(id, device.mac)
  expect(failed.status).toBe('failed')
  rollout.clock.advance(60_000)
  return { device, id, failed }
}

async function loseConnectionForAMinute(device: SeededDevice): Promise<void> {
  await rollout.fleet.disconnect([device])
  rollout.clock.advance(60_000)
  await rollout.fleet.connect([device], OLD, 'socket')
}

it('the timeline of a device says what happened, when and why, and for how long the device was down', async () => {
  const { clock } = rollout
  const [good, dead] = await rollout.seed([2])
  if (good === undefined || dead === undefined) throw new Error('no devices')
  clock.advance(1000)
  const { id } = await rollout.create({ reboot_strategy: 'big_bang' })
  await rollout.advance()
  clock.advance(20_000)
  await rollout.fleet.answer(() => 'does')
  await rollout.advance()
  clock.advance(5000)
  await rollout.fleet.disconnect([good, dead])
  clock.advance(60_000)
  await rollout.fleet.connect([good], NEW)
  await rollout.advance()
  clock.advance(11 * 60_000)
  await rollout.advance()

  const upgraded = await detailOf(id, good.mac)
  expect(upgraded).toMatchObject({ status: 'upgraded', attempts: 1, run: 1 })
  expect((upgraded.up_at ?? 0) - (upgraded.down_at ?? 0)).toBeCloseTo(60, 2)
  expect(upgraded.lines).toEqual([
    'event AP_UPGRADE_BY_USER: to 2.0.0',
    'state scheduled: The device waits for its phase or for its next attempt',
    'state download_requested: The device was commanded to download',
    'command upgrade queued: Attempt 1',
    'command upgrade sent: Attempt 1',
    'command upgrade done: Attempt 1',
    'state reboot_in_progress: The device installs the image or reboots',
    'event AP_DISCONNECTED: ',
    expect.stringMatching(/^event AP_(CONNECTED|RESTARTED): /),
    expect.stringMatching(/^event AP_(CONNECTED|RESTARTED): /),
    'event AP_UPGRADED: 1.0.0 -> 2.0.0',
    'state upgraded: The device runs the version and has stayed connected',
  ])
  const times = upgraded.timeline.map(({ timestamp }) => timestamp)
  expect(times).toEqual(times.toSorted((a, b) => a - b))

  const failed = await detailOf(id, dead.mac)
  expect(failed).toMatchObject({ status: 'failed', reason: 'no_reconnect', down_at: upgraded.down_at })
  expect(failed).not.toHaveProperty('up_at')
  expect(failed.lines.at(-1)).toBe('state failed: no_reconnect')

  clock.advance(1000)
  await retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id, macs: [dead.mac] })
  await rollout.fleet.connect([dead])
  await rollout.play()
  const retried = await detailOf(id, dead.mac)
  expect(retried).toMatchObject({ status: 'upgraded', run: 2, runs: [{ down_at: failed.down_at }] })
  expect(retried.lines.slice(0, failed.lines.length)).toEqual(failed.lines)
  expect(retried.lines).toContain(`state scheduled: retried by ${rollout.org.scope.actor.name}`)
})

it('the timeline ends before a later upgrade of the device begins, and not with the end of its target', async () => {
  const { device, id, failed } = await failOne()
  await loseConnectionForAMinute(device)
  const before = await detailOf(id, device.mac)
  expect(before.lines).toEqual([...failed.lines, 'event AP_DISCONNECTED: ', 'event AP_CONNECTED: '])

  rollout.clock.advance(60_000)
  const { id: laterId } = await rollout.create()
  await rollout.play()
  expect(await detailOf(id, device.mac)).toEqual(before)
  const later = await detailOf(laterId, device.mac)
  expect(later.lines).toContain('event AP_UPGRADED: 1.0.0 -> 2.0.0')
  expect(later.lines.filter((line) => line.includes('BY_USER'))).toEqual(['event AP_UPGRADE_BY_USER: to 2.0.0'])
})

it('the timeline goes on while a later upgrade of the device is only planned', async () => {
  const { clock } = rollout
  const { device, id, failed } = await failOne()
  const { id: laterId } = await rollout.create({ start_time: clock.now().getTime() / 1000 + 1800 })
  clock.advance(60_000)
  await loseConnectionForAMinute(device)
  const planned = await detailOf(id, device.mac)
  expect(planned.lines).toEqual([...failed.lines, 'event AP_DISCONNECTED: ', 'event AP_CONNECTED: '])

  clock.advance(30 * 60_000)
  await rollout.play()
  expect((await detailOf(laterId, device.mac)).status).toBe('upgraded')
  expect(await detailOf(id, device.mac)).toEqual(planned)
})

it('the timeline ends when a person restores the backup version', async () => {
  const { device, id, failed } = await failOne()
  const { ctx, clock, org } = rollout
  const ordered = { what: 'UPGRADE_BY_USER', text: RESTORE_TEXT } as const
  const event = { device: { ...device, name: null, siteId: null, siteName: null }, ...ordered }
  await inTx(ctx, (tx) => appendDeviceEvents(tx, org.scope, [event], clock.now()))
  clock.advance(60_000)
  await rollout.fleet.disconnect([device])
  expect(await detailOf(id, device.mac)).toEqual(failed)
})

it('the timeline of a device that was taken over ends with that', async () => {
  const { clock } = rollout
  const device = await seedOne()
  clock.advance(1000)
  const { id } = await rollout.create({ start_time: clock.now().getTime() / 1000 + 600 })
  clock.advance(1000)
  await rollout.create({ supersede: true })
  await rollout.play()
  const { status, lines } = await detailOf(id, device.mac)
  expect(status).toBe('cancelled')
  expect(lines).toEqual([
    'event AP_UPGRADE_BY_USER: to 2.0.0',
    'state scheduled: The device waits for its phase or for its next attempt',
    expect.stringMatching(/^state cancelled: /),
  ])
})
