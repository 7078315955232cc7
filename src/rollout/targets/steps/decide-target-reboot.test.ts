import { describe, expect, test } from 'vitest'
import {
  commanded,
  verifying,
  start,
  at,
  ms,
  MINUTE,
  online,
  offline,
  expected,
  updated,
  command,
  rebooting,
  decide,
  move,
} from '../../../../test/support/fleets/targets.ts'
import { defaultRolloutOptions } from '../../rollout.ts'
import type { DeviceNow, TargetNow } from '../target.ts'

describe('a rebooting target', () => {
  test.each([
    ['waits for its return', { device: offline }, 100, { kind: 'wait', untilMs: ms(60 + 10 * MINUTE) }],
    ['has not begun to reboot', {}, 100, { kind: 'wait', untilMs: ms(60 + 2 * MINUTE) }],
    [
      'came back a moment ago and may boot yet',
      { device: { ...online, connectedMs: ms(90) } },
      200,
      { kind: 'wait', untilMs: ms(90 + 2 * MINUTE) },
    ],
    [
      'is back on the old version',
      { device: { ...online, bootCount: 4, bootedAt: at(90) } },
      100,
      move('failed', 'not_applied'),
    ],
    [
      'has rebooted at the instant at which the command was sent',
      { device: { ...online, bootCount: 4, bootedAt: at(1) } },
      100,
      move('failed', 'not_applied'),
    ],
    [
      'has not rebooted for this command',
      { device: { ...online, bootCount: 4, bootedAt: start } },
      100,
      { kind: 'wait', untilMs: ms(60 + 2 * MINUTE) },
    ],
    ['is back on the new version', { device: updated }, 101, move('verifying')],
    ['never returns', { device: offline }, 60 + 10 * MINUTE, move('failed', 'no_reconnect')],
  ])('%s', (_, more: Partial<TargetNow>, seconds, decision) => {
    expect(decide({ ...rebooting, ...more }, seconds)).toEqual(decision)
  })

  test('has arrived once it was connected for long enough, but as a Virtual Chassis only with all members', () => {
    const chassis = (memberFirmware: readonly string[]) =>
      decide({ ...rebooting, device: { ...updated, memberFirmware } }, 60 + 10 * MINUTE)
    expect(chassis(['2.0', '2.0'])).toEqual(move('upgraded'))
    expect(chassis(['2.0', '1.0'])).toEqual(move('verifying'))
  })

  test('has more time as a switch, and most as a Virtual Chassis', () => {
    const until = (device: Partial<DeviceNow>) => decide({ ...rebooting, device: { ...offline, ...device } }, 100)
    expect(until({ type: 'switch' })).toEqual({ kind: 'wait', untilMs: ms(60 + 20 * MINUTE) })
    expect(until({ type: 'switch', memberFirmware: ['1.0', '1.0'] })).toEqual({
      kind: 'wait',
      untilMs: ms(60 + 30 * MINUTE),
    })
  })

  test('that has not booted gets the command again: at no cost where its answer was lost', () => {
    const after = 60 + 2 * MINUTE
    const delivered = { bytesServed: 10, touchedMs: ms(50), delivered: true, fenced: false }
    const lost = { ...rebooting, command: command('unknown', { loss: 'connection_lost' }), download: delivered }
    expect(decide(lost, after - 1)).toEqual({ kind: 'wait', untilMs: ms(after) })
    expect(decide(lost, after)).toEqual({ kind: 'command', order: 'upgrade', failedAttempts: 0, lostAttempts: 1 })
    // A switch stays connected while it installs.
    const aSwitch = { ...lost, device: { ...online, type: 'switch' } } as const
    expect(decide(aSwitch, after)).toEqual({ kind: 'wait', untilMs: ms(60 + 30 * MINUTE) })
    expect(decide({ ...rebooting, device: aSwitch.device }, after)).toMatchObject({
      kind: 'command',
      failedAttempts: 1,
    })
    const reported = { ...rebooting, command: command('done', { mayReboot: true }) }
    expect(decide(reported, after)).toMatchObject({ kind: 'command', failedAttempts: 1 })
    // A pause does not consume its next attempt.
    expect(decide(lost, after, { held: true })).toMatchObject({ kind: 'move', to: 'planned', lostAttempts: 1 })
    // The device announced the flash and did not perform it.
    expect(decide(rebooting, after)).toEqual({ kind: 'command', order: 'upgrade', failedAttempts: 1, lostAttempts: 0 })
    expect(decide({ ...rebooting, failedAttempts: 2 }, after)).toEqual({
      ...move('failed', 'not_applied'),
      failedAttempts: 3,
      lostAttempts: 0,
    })
    expect(decide(rebooting, after, { stopping: true })).toEqual({ kind: 'wait', untilMs: ms(60 + 10 * MINUTE) })
    expect(decide(rebooting, 60 + 10 * MINUTE, { stopping: true })).toEqual(move('failed', 'not_applied'))
  })

  test('is not given up while it may still be on its way back to a service that has just started', () => {
    const graceUntilMs = ms(30 * MINUTE)
    for (const device of [offline, expected]) {
      const gone = { ...rebooting, device }
      expect(decide(gone, 20 * MINUTE, { graceUntilMs })).toEqual({ kind: 'wait', untilMs: graceUntilMs })
      expect(decide(gone, 30 * MINUTE, { graceUntilMs })).toEqual(move('failed', 'no_reconnect'))
    }
  })

  test('believes a refusal that comes late', () => {
    const late = { ...rebooting, command: command('rejected', { refusal: 'Invalid signature', refusalIsFinal: true }) }
    expect(decide(late, 100)).toEqual({ ...move('failed', 'Invalid signature'), failedAttempts: 1 })
  })

  test('reboots also where the clock was set back behind the time of the command', () => {
    const old = { ...online, bootCount: 4, bootedAt: at(-7000) }
    const clock = { now: at(-6900) }
    expect(decide({ ...rebooting, device: old }, 100, clock)).toEqual(move('failed', 'not_applied'))
  })

  test('forced onto its own version, it must have fetched the image', () => {
    const again = { ...commanded('sent'), fromVersion: '2.0', force: true, device: updated }
    expect(decide(again, 101)).toEqual({ kind: 'wait' })
    expect(decide({ ...again, fetched: true }, 101)).toEqual(move('verifying'))
  })

  test('forced onto its own version, it is waited for where it has booted without the image', () => {
    const lost = command('unknown', { loss: 'connection_lost' })
    const again = { ...rebooting, fromVersion: '2.0', force: true, device: updated, command: lost }
    expect(decide(again, 101)).toEqual({ kind: 'wait', untilMs: ms(60 + 10 * MINUTE) })
    expect(decide(again, 60 + 10 * MINUTE)).toEqual(move('failed', 'not_applied'))
  })

  test('forced onto its own version, it must have rebooted', () => {
    const again = { ...rebooting, fromVersion: '2.0', force: true }
    expect(decide({ ...again, device: { ...updated, bootCount: 3 } }, 101)).toMatchObject({ kind: 'wait' })
    expect(decide({ ...again, device: updated }, 101)).toEqual(move('verifying'))
  })
})

describe('a verifying target', () => {
  test.each([
    ['is upgraded after the soak', {}, 220, move('upgraded')],
    ['is not before', {}, 219, { kind: 'wait', untilMs: ms(220) }],
    [
      'soaks anew after a reconnect',
      { device: { ...updated, connectedMs: ms(200) } },
      220,
      { kind: 'wait', untilMs: ms(320) },
    ],
    [
      'does not soak while nobody hears it',
      { device: { ...expected, firmware: '2.0' } },
      300,
      { kind: 'wait', untilMs: ms(100 + 17 * MINUTE) },
    ],
    ['fails on the old version', { device: online }, 150, move('failed', 'not_applied')],
    [
      'fails when it never settles',
      { device: { ...offline, firmware: '2.0' } },
      100 + 17 * MINUTE,
      move('failed', 'unstable'),
    ],
    [
      'waits for all members',
      { device: { ...updated, memberFirmware: ['2.0', '1.0'] } },
      220,
      { kind: 'wait', untilMs: ms(100 + 17 * MINUTE) },
    ],
    [
      'fails without all members',
      { device: { ...updated, memberFirmware: ['2.0', '1.0'] } },
      100 + 17 * MINUTE,
      move('failed', 'members_behind'),
    ],
  ])('%s', (_, more: Partial<TargetNow>, seconds, decision) => {
    expect(decide({ ...verifying, ...more }, seconds)).toEqual(decision)
  })

  test('gets its soak where it comes back within its grace', () => {
    const graceUntilMs = ms(30 * MINUTE)
    const away = { ...verifying, device: { ...expected, firmware: '2.0' } }
    expect(decide(away, 20 * MINUTE, { graceUntilMs })).toEqual({ kind: 'wait', untilMs: graceUntilMs })
    const back = { ...verifying, device: { ...updated, connectedMs: ms(29 * MINUTE) } }
    expect(decide(back, 30 * MINUTE, { graceUntilMs })).toEqual({ kind: 'wait', untilMs: ms(31 * MINUTE) })
    expect(decide(back, 31 * MINUTE, { graceUntilMs })).toEqual(move('upgraded'))
  })

  test('needs no state of its own without a soak', () => {
    const options = { ...defaultRolloutOptions, soakMs: 0 }
    expect(decide({ ...rebooting, device: updated }, 101, { options })).toEqual(move('upgraded'))
  })
})

test.each(['upgraded', 'failed', 'skipped', 'cancelled'] as const)('%s is for good', (state) => {
  expect(decide({ ...verifying, state }, 61, { stopping: true })).toEqual({ kind: 'wait' })
})
