import { describe, expect, test } from 'vitest'
import { type CommandNow, type DeviceNow, type TargetNow, type TargetRules, decideTarget } from './decide-target.ts'
import { defaultRolloutOptions } from './rollout.ts'

const start = new Date('2026-03-01T00:00:00Z')
const at = (seconds: number): Date => new Date(start.getTime() + seconds * 1000)
const MINUTE = 60

const online: DeviceNow = {
  type: 'ap',
  connected: true,
  connectedAt: start,
  firmware: '1.0',
  bootCount: 3,
  bootedAt: start,
  memberFirmware: [],
}
const offline: DeviceNow = { ...online, connected: false }
const updated: DeviceNow = { ...online, firmware: '2.0', bootCount: 4, bootedAt: at(100), connectedAt: at(100) }

const planned: TargetNow = {
  deviceId: 'd',
  phase: 1,
  state: 'planned',
  enteredAt: start,
  fromVersion: '1.0',
  targetVersion: '2.0',
  imageId: 'i',
  force: false,
  attempt: 0,
  failedAttempts: 0,
  bootCount: null,
  device: online,
  command: null,
  download: null,
}

function command(state: CommandNow['state'], more: Partial<CommandNow> = {}): CommandNow {
  const ended = state !== 'queued' && state !== 'sent'
  return {
    id: 'c',
    state,
    refusal: null,
    loss: null,
    sentAt: state === 'queued' ? null : at(1),
    finishedAt: ended ? at(60) : null,
    ...more,
  }
}

function commanded(state: CommandNow['state'], more: Partial<TargetNow> = {}): TargetNow {
  return { ...planned, state: 'dl_requested', attempt: 1, bootCount: 3, command: command(state), ...more }
}

const rebooting: TargetNow = { ...commanded('done'), state: 'rebooting', enteredAt: at(60) }
const verifying: TargetNow = { ...rebooting, state: 'verifying', enteredAt: at(100), device: updated }

function decide(target: TargetNow, seconds = 61, rules: Partial<TargetRules> = {}) {
  return decideTarget(target, {
    now: at(seconds),
    options: defaultRolloutOptions,
    stopping: false,
    held: false,
    offlineDeadline: null,
    ...rules,
  })
}
const move = (to: string, reason?: string) => ({ kind: 'move', to, ...(reason !== undefined && { reason }) })

describe('a planned or deferred target', () => {
  const deferred: TargetNow = { ...planned, state: 'deferred', device: offline }
  test.each([
    ['is commanded when online', planned, { kind: 'command', failedAttempts: 0 }],
    ['is skipped on its version', { ...planned, device: { ...online, firmware: '2.0' } }, move('skipped')],
    [
      'is commanded on its version if forced',
      { ...planned, force: true, device: { ...online, firmware: '2.0' } },
      { kind: 'command', failedAttempts: 0 },
    ],
    ['is deferred when offline', { ...planned, device: offline }, move('deferred')],
    ['waits while offline', deferred, { kind: 'wait' }],
    ['is commanded when it returns', { ...deferred, device: online }, { kind: 'command', failedAttempts: 0 }],
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
    expect(decide(deferred, 61, { offlineDeadline: at(61) })).toEqual(move('failed', 'offline'))
    expect(decide(deferred, 60, { offlineDeadline: at(61) })).toEqual({ kind: 'wait' })
  })

  test('waits while the upgrade is held, at its deadline too', () => {
    expect(decide(planned, 61, { held: true })).toEqual({ kind: 'wait' })
    expect(decide(deferred, 61, { held: true, offlineDeadline: at(61) })).toEqual({ kind: 'wait' })
    expect(decide({ ...planned, device: null }, 61, { held: true })).toEqual(move('cancelled', 'removed'))
  })

  test('is cancelled by a stop', () => {
    expect(decide(planned, 61, { stopping: true })).toEqual(move('cancelled'))
  })
})

describe('a commanded target', () => {
  const bytes = { bytesServed: 10, touchedAt: at(60), delivered: false, fenced: false }
  test.each([
    ['waits while its command is queued', commanded('queued'), { kind: 'wait' }],
    [
      'lets no queued command wait for an absent device',
      commanded('queued', { device: offline }),
      { kind: 'take_back', commandId: 'c' },
    ],
    ['shows that it downloads', commanded('sent', { download: bytes }), move('downloading')],
    ['reboots once it has accepted', commanded('done'), move('rebooting')],
    ['waits before a further attempt', commanded('rejected'), { kind: 'wait', until: at(90) }],
    ['is put off when its command was taken back', commanded('cancelled', { device: offline }), move('deferred')],
    ['is put off when it was absent', commanded('expired', { device: offline }), move('deferred')],
    ['may be downloading still', commanded('unknown', { download: bytes }), { kind: 'wait', until: at(75) }],
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
    expect(decide(commanded('rejected', refused), 90)).toEqual({ kind: 'command', failedAttempts: 1 })
    expect(decide(commanded('rejected', { ...refused, failedAttempts: 1 }), 90)).toEqual({
      kind: 'wait',
      until: at(120),
    })
    expect(decide(commanded('rejected', { ...refused, failedAttempts: 2 }), 61)).toEqual({
      ...move('failed', 'Download failed'),
      failedAttempts: 3,
    })
  })

  test('after a fence: again if it is there, later if not', () => {
    const fenced = { download: { ...bytes, bytesServed: 0, fenced: true } }
    expect(decide(commanded('unknown', fenced), 61)).toEqual({ kind: 'command', failedAttempts: 1 })
    expect(decide(commanded('unknown', { ...fenced, device: offline }))).toMatchObject(move('deferred'))
    expect(decide(commanded('unknown', fenced), 90, { stopping: true })).toMatchObject(move('cancelled'))
  })

  test('an attempt that the gateway broke off is no failure of the device, however many there are', () => {
    const fenced = { download: { ...bytes, bytesServed: 0, fenced: true } }
    const lost = { ...fenced, failedAttempts: 2, attempt: 9, command: command('unknown', { loss: 'gateway_lost' }) }
    expect(decide(commanded('unknown', lost))).toEqual({ kind: 'command', failedAttempts: 2 })
    expect(decide(commanded('unknown', { ...lost, device: offline }))).toEqual(move('deferred'))
    expect(decide(commanded('unknown', lost), 61, { stopping: true })).toEqual(move('cancelled'))
  })

  test.each([
    ['connection_lost', 'connection_lost'],
    ['timeout', 'unresponsive'],
  ] as const)('one that ended with %s counts', (loss, reason) => {
    const fenced = { download: { ...bytes, bytesServed: 0, fenced: true } }
    const last = { ...fenced, failedAttempts: 2, command: command('unknown', { loss }) }
    expect(decide(commanded('unknown', last))).toEqual({ ...move('failed', reason), failedAttempts: 3 })
  })

  test('is not waited for without end', () => {
    expect(decide(commanded('sent'), 1 + 120 * MINUTE)).toEqual({ kind: 'fence', commandId: 'c', imageId: 'i' })
  })

  test('a hold takes back what is queued, and lets no attempt follow', () => {
    const held = { held: true }
    expect(decide(commanded('queued'), 61, held)).toEqual({ kind: 'take_back', commandId: 'c' })
    expect(decide(commanded('cancelled'), 61, held)).toEqual(move('deferred'))
    expect(decide(commanded('rejected'), 90, held)).toEqual({ ...move('deferred', 'refused'), failedAttempts: 1 })
    expect(decide(commanded('sent'), 61, held)).toEqual({ kind: 'wait' })
    expect(decide(commanded('done'), 61, held)).toEqual(move('rebooting'))
  })

  test('a stop takes back what is queued and lets the rest end', () => {
    expect(decide(commanded('queued'), 61, { stopping: true })).toEqual({ kind: 'take_back', commandId: 'c' })
    expect(decide(commanded('sent'), 61, { stopping: true })).toEqual({ kind: 'wait' })
    expect(decide(commanded('done'), 61, { stopping: true })).toEqual(move('rebooting'))
  })
})

describe('a rebooting target', () => {
  test.each([
    ['waits for its return', { device: offline }, 100, { kind: 'wait', until: at(60 + 10 * MINUTE) }],
    ['has not begun to reboot', {}, 100, { kind: 'wait', until: at(60 + 10 * MINUTE) }],
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
      { kind: 'wait', until: at(60 + 10 * MINUTE) },
    ],
    ['is back on the new version', { device: updated }, 101, move('verifying')],
    ['never returns', { device: offline }, 60 + 10 * MINUTE, move('failed', 'no_reconnect')],
    ['never left', {}, 60 + 10 * MINUTE, move('failed', 'not_applied')],
  ])('%s', (_, more: Partial<TargetNow>, seconds, decision) => {
    expect(decide({ ...rebooting, ...more }, seconds)).toEqual(decision)
  })

  test('has more time as a switch, and most as a Virtual Chassis', () => {
    const until = (device: Partial<DeviceNow>) => decide({ ...rebooting, device: { ...offline, ...device } }, 100)
    expect(until({ type: 'switch' })).toEqual({ kind: 'wait', until: at(60 + 20 * MINUTE) })
    expect(until({ type: 'switch', memberFirmware: ['1.0', '1.0'] })).toEqual({
      kind: 'wait',
      until: at(60 + 30 * MINUTE),
    })
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
    ['is not before', {}, 219, { kind: 'wait', until: at(220) }],
    [
      'soaks anew after a reconnect',
      { device: { ...updated, connectedAt: at(200) } },
      220,
      { kind: 'wait', until: at(320) },
    ],
    ['fails on the old version', { device: online }, 150, move('failed', 'not_applied')],
    [
      'fails when it never settles',
      { device: { ...updated, connected: false } },
      100 + 17 * MINUTE,
      move('failed', 'unstable'),
    ],
    [
      'waits for all members',
      { device: { ...updated, memberFirmware: ['2.0', '1.0'] } },
      220,
      { kind: 'wait', until: at(100 + 17 * MINUTE) },
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

  test('needs no state of its own without a soak', () => {
    const options = { ...defaultRolloutOptions, soakMs: 0 }
    expect(decide({ ...rebooting, device: updated }, 101, { options })).toEqual(move('upgraded'))
  })
})

test.each(['upgraded', 'failed', 'skipped', 'cancelled'] as const)('%s is for good', (state) => {
  expect(decide({ ...verifying, state }, 61, { stopping: true })).toEqual({ kind: 'wait' })
})
