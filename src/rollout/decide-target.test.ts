import { describe, expect, test } from 'vitest'
import { decideTarget } from './decide-target.ts'
import { defaultRolloutOptions } from './rollout.ts'
import type { CommandNow, DeviceNow, TargetNow, TargetRules } from './target.ts'

const start = new Date('2026-03-01T00:00:00Z')
const at = (seconds: number): Date => new Date(start.getTime() + seconds * 1000)
/** Service time. */
const ms = (seconds: number): number => 1e9 + seconds * 1000
const MINUTE = 60

const online: DeviceNow = {
  type: 'ap',
  link: 'connected',
  connectedMs: ms(0),
  firmware: '1.0',
  bootCount: 3,
  bootedAt: start,
  memberFirmware: [],
}
const offline: DeviceNow = { ...online, link: 'absent', connectedMs: null }
const expected: DeviceNow = { ...offline, link: 'expected' }
const updated: DeviceNow = { ...online, firmware: '2.0', bootCount: 4, bootedAt: at(100), connectedMs: ms(100) }

const planned: TargetNow = {
  deviceId: 'd',
  phase: 1,
  state: 'planned',
  enteredMs: ms(0),
  fromVersion: '1.0',
  targetVersion: '2.0',
  imageId: 'i',
  force: false,
  attempt: 0,
  failedAttempts: 0,
  lostAttempts: 0,
  retryAtMs: null,
  fetched: false,
  bootCount: null,
  device: online,
  command: null,
  download: null,
}

function command(state: CommandNow['state'], more: Partial<CommandNow> = {}): CommandNow {
  return {
    id: 'c',
    state,
    refusal: null,
    refusalIsFinal: false,
    loss: null,
    sentAt: state === 'queued' ? null : at(1),
    ...more,
  }
}

function commanded(state: CommandNow['state'], more: Partial<TargetNow> = {}): TargetNow {
  return { ...planned, state: 'dl_requested', attempt: 1, bootCount: 3, command: command(state), ...more }
}

const rebooting: TargetNow = { ...commanded('done'), state: 'rebooting', enteredMs: ms(60) }
const verifying: TargetNow = { ...rebooting, state: 'verifying', enteredMs: ms(100), device: updated }

function decide(target: TargetNow, seconds = 61, rules: Partial<TargetRules> = {}) {
  return decideTarget(target, {
    now: at(seconds),
    nowMs: ms(seconds),
    options: defaultRolloutOptions,
    stopping: false,
    held: false,
    offlineDeadlineMs: null,
    graceUntilMs: 0,
    ...rules,
  })
}
const move = (to: string, reason?: string) => ({ kind: 'move', to, ...(reason !== undefined && { reason }) })

describe('a planned or deferred target', () => {
  const deferred: TargetNow = { ...planned, state: 'deferred', device: offline }
  test.each([
    ['is commanded when online', planned, { kind: 'command', failedAttempts: 0, lostAttempts: 0 }],
    ['is skipped on its version', { ...planned, device: { ...online, firmware: '2.0' } }, move('skipped')],
    [
      'is commanded on its version if forced',
      { ...planned, force: true, device: { ...online, firmware: '2.0' } },
      { kind: 'command', failedAttempts: 0, lostAttempts: 0 },
    ],
    ['is deferred when offline', { ...planned, device: offline }, move('deferred')],
    ['waits while offline', deferred, { kind: 'wait' }],
    [
      'is commanded when it returns',
      { ...deferred, device: online },
      { kind: 'command', failedAttempts: 0, lostAttempts: 0 },
    ],
    [
      'is verified when it returns updated from an earlier attempt',
      { ...deferred, attempt: 1, device: updated },
      move('verifying'),
    ],
    ['is let be when its device is gone', { ...planned, device: null }, move('cancelled', 'removed')],
  ])('%s', (_, target, decision) => {
    expect(decide(target)).toEqual(decision)
  })

  test('is given up at the deadline, softly', () => {
    expect(decide(deferred, 61, { offlineDeadlineMs: ms(61) })).toEqual(move('failed', 'offline'))
    expect(decide(deferred, 60, { offlineDeadlineMs: ms(61) })).toEqual({ kind: 'wait' })
  })

  test('waits while the upgrade is held, at its deadline too', () => {
    expect(decide(planned, 61, { held: true })).toEqual({ kind: 'wait' })
    expect(decide(deferred, 61, { held: true, offlineDeadlineMs: ms(61) })).toEqual({ kind: 'wait' })
    expect(decide({ ...planned, device: null }, 61, { held: true })).toEqual(move('cancelled', 'removed'))
  })

  test('is cancelled by a stop', () => {
    expect(decide(planned, 61, { stopping: true })).toEqual(move('cancelled'))
  })
})

describe('a commanded target', () => {
  const bytes = { bytesServed: 10, touchedMs: ms(60), delivered: false, fenced: false }
  test.each([
    ['waits while its command is queued', commanded('queued'), { kind: 'wait' }],
    [
      'lets no queued command wait for an absent device',
      commanded('queued', { device: offline }),
      { kind: 'take_back', commandId: 'c' },
    ],
    ['shows that it downloads', commanded('sent', { download: bytes }), move('downloading')],
    ['reboots once it has accepted', commanded('done'), move('rebooting')],
    [
      'waits before a further attempt',
      commanded('rejected'),
      { kind: 'pause', reason: 'refused', failedAttempts: 1, lostAttempts: 0, retryAtMs: ms(91) },
    ],
    [
      'fails at once where its content was refused',
      commanded('rejected', { command: command('rejected', { refusal: 'Invalid signature', refusalIsFinal: true }) }),
      { ...move('failed', 'Invalid signature'), failedAttempts: 1 },
    ],
    ['waits for a device that is on its way back', commanded('cancelled', { device: expected }), { kind: 'wait' }],
    ['is put off when its command was taken back', commanded('cancelled', { device: offline }), move('deferred')],
    ['is put off when it was absent', commanded('expired', { device: offline }), move('deferred')],
    ['may be downloading still', commanded('unknown', { download: bytes }), { kind: 'wait', untilMs: ms(75) }],
    [
      'may flash once it has the image',
      commanded('unknown', { download: { ...bytes, delivered: true } }),
      move('rebooting'),
    ],
    ['is fenced before anything is repeated', commanded('unknown'), { kind: 'fence', commandId: 'c', imageId: 'i' }],
    [
      'is let be when its device is gone',
      commanded('sent', { device: null, command: null }),
      move('cancelled', 'removed'),
    ],
    ['is verified wherever it comes from', commanded('unknown', { device: updated }), move('verifying')],
  ])('%s', (_, target, decision) => {
    expect(decide(target)).toEqual(decision)
  })

  test('tries again after a pause that doubles, three times in all', () => {
    const refused = { command: command('rejected', { refusal: 'Download failed' }) }
    const second = commanded('rejected', { ...refused, attempt: 2, failedAttempts: 1 })
    expect(decide(second)).toMatchObject({ kind: 'pause', failedAttempts: 2, retryAtMs: ms(61 + 60) })
    const paused = { ...second, failedAttempts: 2, retryAtMs: ms(121) }
    expect(decide(paused, 120)).toEqual({ kind: 'wait', untilMs: ms(121) })
    expect(decide(paused, 121)).toEqual({ kind: 'command', failedAttempts: 2, lostAttempts: 0 })
    expect(decide(commanded('rejected', { ...refused, attempt: 3, failedAttempts: 2 }))).toEqual({
      ...move('failed', 'Download failed'),
      failedAttempts: 3,
      lostAttempts: 0,
    })
  })

  const fenced = { download: { ...bytes, bytesServed: 0, fenced: true } }
  const lostBy = (loss: CommandNow['loss'], more: Partial<TargetNow> = {}) =>
    commanded('unknown', { ...fenced, command: command('unknown', { loss }), ...more })

  test('after a fence: again if it is there, later if not', () => {
    const lost = lostBy('connection_lost')
    expect(decide(lost)).toEqual({
      kind: 'pause',
      reason: 'connection_lost',
      failedAttempts: 0,
      lostAttempts: 1,
      retryAtMs: ms(91),
    })
    expect(decide({ ...lost, device: offline })).toEqual({
      ...move('deferred', 'connection_lost'),
      failedAttempts: 0,
      lostAttempts: 1,
      retryAtMs: ms(91),
    })
    expect(decide(lost, 90, { stopping: true })).toMatchObject(move('cancelled'))
  })

  test('an attempt that the gateway broke off is no failure of the device, however many there are', () => {
    const lost = lostBy('gateway_lost', { failedAttempts: 2, attempt: 99 })
    expect(decide(lost)).toEqual({ kind: 'command', failedAttempts: 2, lostAttempts: 0 })
    expect(decide({ ...lost, device: expected })).toEqual({ kind: 'wait' })
    expect(decide({ ...lost, device: offline })).toEqual(move('deferred'))
    expect(decide(lost, 61, { stopping: true })).toEqual(move('cancelled'))
  })

  test('a lost connection costs no attempt; the pause grows, and an endless chain of losses ends at last', () => {
    const pauseOf = (lostAttempts: number) => {
      const decision = decide(lostBy('connection_lost', { attempt: 50, failedAttempts: 2, lostAttempts }))
      return decision.kind === 'pause' ? (decision.retryAtMs - ms(61)) / 1000 : decision
    }
    expect([0, 1, 2, 5, 17].map(pauseOf)).toEqual([30, 60, 120, 960, 960])
    expect(pauseOf(29)).toEqual({ ...move('failed', 'connection_lost'), failedAttempts: 2, lostAttempts: 30 })
  })

  test('one that ended with timeout counts', () => {
    expect(decide(lostBy('timeout'))).toEqual({ kind: 'command', failedAttempts: 1, lostAttempts: 0 })
    expect(decide(lostBy('timeout', { failedAttempts: 2 }))).toEqual({
      ...move('failed', 'unresponsive'),
      failedAttempts: 3,
      lostAttempts: 0,
    })
  })

  test('a command that could not be sent in time is taken back', () => {
    expect(decide(commanded('queued'), 10 * MINUTE)).toEqual({ kind: 'take_back', commandId: 'c' })
  })

  test('is not waited for without end', () => {
    expect(decide(commanded('sent'), 120 * MINUTE)).toEqual({ kind: 'fence', commandId: 'c', imageId: 'i' })
  })

  test('a hold takes back what is queued, and lets no attempt follow', () => {
    const held = { held: true }
    expect(decide(commanded('queued'), 61, held)).toEqual({ kind: 'take_back', commandId: 'c' })
    // It is there, so its phase waits for it.
    expect(decide(commanded('cancelled'), 61, held)).toEqual(move('planned'))
    expect(decide(commanded('cancelled', { device: offline }), 61, held)).toEqual(move('deferred'))
    expect(decide(commanded('rejected'), 61, held)).toEqual({
      ...move('planned', 'refused'),
      failedAttempts: 1,
      lostAttempts: 0,
      retryAtMs: ms(91),
    })
    expect(decide(commanded('sent'), 61, held)).toEqual({ kind: 'wait' })
    expect(decide(commanded('done'), 61, held)).toEqual(move('rebooting'))
  })

  test('a stop cuts off what has not fetched the image, and lets the rest end', () => {
    const stop = { stopping: true }
    const fence = { kind: 'fence', commandId: 'c', imageId: 'i' }
    expect(decide(commanded('queued'), 61, stop)).toEqual({ kind: 'take_back', commandId: 'c' })
    expect(decide(commanded('sent'), 61, stop)).toEqual(fence)
    expect(decide(commanded('sent', { download: bytes }), 61, stop)).toEqual(fence)
    expect(decide(commanded('unknown', { download: bytes }), 61, stop)).toEqual(fence)
    expect(decide(commanded('sent', fenced), 61, stop)).toEqual(move('cancelled'))
    expect(decide(commanded('sent', { download: { ...bytes, delivered: true } }), 61, stop)).toEqual(
      move('downloading'),
    )
    expect(decide(commanded('done'), 61, stop)).toEqual(move('rebooting'))
  })
})

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
    expect(decide(lost, after)).toEqual({ kind: 'command', failedAttempts: 0, lostAttempts: 1 })
    // A switch stays connected while it installs.
    const aSwitch = { ...lost, device: { ...online, type: 'switch' } } as const
    expect(decide(aSwitch, after)).toEqual({ kind: 'wait', untilMs: ms(60 + 30 * MINUTE) })
    // A pause does not take its next attempt away.
    expect(decide(lost, after, { held: true })).toMatchObject({ kind: 'move', to: 'planned', lostAttempts: 1 })
    // It said that it would flash, and did not.
    expect(decide(rebooting, after)).toEqual({ kind: 'command', failedAttempts: 1, lostAttempts: 0 })
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
