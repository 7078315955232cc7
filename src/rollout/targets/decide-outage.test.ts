import { describe, expect, test } from 'vitest'
import {
  at,
  commanded,
  command,
  ms,
  offline,
  online,
  rebooting,
  updated,
  verifying,
} from '../../../test/support/fleets/targets.ts'
import { decideOutage } from './decide-outage.ts'
import type { TargetState } from '../rollout.ts'
import type { TargetNow } from './target.ts'

const sent = command('done', { sentAt: at(30) })
const back = { ...updated, disconnectedMs: ms(70) }

function outage(target: TargetNow, to: TargetState, seconds = 120) {
  return decideOutage({ target, to }, { now: at(seconds), nowMs: ms(seconds) })
}

describe('the outage of a target', () => {
  test.each([
    ['lasts from the end of its connection to the next one', { device: back }, 'verifying', [70, 100]],
    ['is the same where the soak is none', { device: back }, 'upgraded', [70, 100]],
    [
      'lasts from the reboot where nobody noticed the end',
      { device: { ...updated, disconnectedMs: ms(100) } },
      'verifying',
      [60, 100],
    ],
    [
      'is not an earlier one, from before the command',
      { device: { ...updated, disconnectedMs: ms(20) } },
      'verifying',
      [60, 100],
    ],
    [
      'has no end where the device does not come back',
      { device: { ...offline, disconnectedMs: ms(65) } },
      'failed',
      [65, null],
    ],
    [
      'ends where the device comes back with the old version',
      { device: { ...back, firmware: '1.0' } },
      'failed',
      [70, 100],
    ],
    ['is none where the device has not booted', { device: { ...online, disconnectedMs: ms(10) } }, 'failed', null],
    [
      'has no end yet where the device is to be restored once it is back',
      { device: { ...offline, disconnectedMs: ms(65) } },
      'rolling_back',
      [65, null],
    ],
    [
      'ends, for a while, where it is back and restores its backup version',
      { state: 'rolling_back', device: back },
      'rolling_back',
      [70, 100],
    ],
    ['is not known before the result', { device: back }, 'deferred', null],
    ['is none of a device that left', { device: null }, 'cancelled', null],
    ['is none of a device that nobody commanded', { command: null, device: back }, 'failed', null],
    ['is none where the command was not sent', { command: command('queued'), device: back }, 'failed', null],
    ['is known also where a snapshot follows at once', { device: back }, 'snapshotting', [70, 100]],
    [
      'lasts from the restore where nobody noticed the end',
      { state: 'rolling_back', device: updated },
      'failed',
      [60, 100],
    ],
    ['is none of a device that waited, and is skipped', { state: 'planned', device: back }, 'skipped', null],
    ['is none of a device that waited, and is cancelled', { state: 'planned', device: back }, 'cancelled', null],
  ] as const)('%s', (_, members, to, seconds) => {
    const found = outage({ ...rebooting, command: sent, ...members }, to)
    if (seconds === null) expect(found).toBeNull()
    else expect(found).toEqual({ downAt: at(seconds[0]), upAt: seconds[1] === null ? null : at(seconds[1]) })
  })

  test('is decided once', () => {
    expect(outage({ ...verifying, command: sent, device: back }, 'upgraded')).toBeNull()
    expect(outage({ ...verifying, command: sent, device: back }, 'rolling_back')).toBeNull()
    expect(outage({ ...verifying, state: 'snapshotting', command: sent, device: back }, 'upgraded')).toBeNull()
  })

  test('is that of each version on its way, unless it has got there by itself', () => {
    const hop = { version: '3.0', image_id: 'i', reported: [] }
    const goesOn = (target: Partial<TargetNow>) =>
      decideOutage(
        { target: { ...rebooting, command: sent, device: back, ...target }, to: 'planned', hop },
        { now: at(120), nowMs: ms(120) },
      )
    expect(goesOn({})).toEqual({ downAt: at(70), upAt: at(100) })
    expect(goesOn({ state: 'planned' })).toBeNull()
    expect(goesOn({ state: 'verifying' })).toBeNull()
  })

  test('is unknown where the device booted before anybody saw it reboot', () => {
    const unnoticed = commanded('done', { command: sent, device: { ...updated, disconnectedMs: null } })
    expect(outage(unnoticed, 'verifying')).toBeNull()
  })

  test('never ends before it begins, even if the clock was set back', () => {
    const target = { ...rebooting, enteredMs: ms(110), command: command('done', { sentAt: at(500) }), device: back }
    expect(outage(target, 'verifying')).toEqual({ downAt: at(100), upAt: at(100) })
  })
})
