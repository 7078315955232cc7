import { describe, expect, test } from 'vitest'
import {
  at,
  command,
  decide,
  ms,
  offline,
  online,
  rebooting,
  updated,
  verifying,
} from '../../../../test/support/fleets/targets.ts'
import { isHardFailure, stepOf } from '../../rounds/decide-step.ts'
import type { CommandNow, DeviceNow, TargetNow, TargetRules } from '../target.ts'

const rollback: Partial<TargetRules> = { rollback: true }
const upgraded: DeviceNow = { ...updated, commands: ['upgrade', 'restore_backup'], backupVersion: '1.0' }
/** It is back with its backup version, and has stayed connected for the soak at second 2220. */
const old: DeviceNow = { ...online, connectedMs: ms(2100), bootCount: 5 }

const restoring = (state: CommandNow['state'] | null, device: DeviceNow = upgraded): TargetNow => ({
  ...verifying,
  state: 'rolling_back',
  enteredMs: ms(2000),
  failedAttempts: 1,
  device,
  ...(state !== null && { bootCount: 4, command: command(state, { kind: 'restore_backup', sentAt: at(2000) }) }),
})
const request = { kind: 'command', order: 'restore_backup', failedAttempts: 1, lostAttempts: 0 }

describe('a device whose upgrade fails', () => {
  const unstable = { ...verifying, device: { ...upgraded, connectedMs: ms(1125) } }
  test('restores its backup version at once where it is connected and does not stay so', () => {
    expect(decide(unstable, 1130)).toEqual({ kind: 'move', to: 'failed', reason: 'unstable' })
    expect(decide(unstable, 1130, rollback)).toEqual({ ...request, reason: 'unstable' })
    const repeated = { ...unstable, failedAttempts: 2, lostAttempts: 3 }
    expect(decide(repeated, 1130, rollback)).toEqual({ ...request, reason: 'unstable' })
    expect(decide({ ...unstable, unfit: 'runs 0.9' }, 1130, rollback)).toEqual({ ...request, reason: 'unstable' })
  })

  test('is waited for where it does not return', () => {
    const gone = { ...rebooting, device: offline, failedAttempts: 2, lostAttempts: 3 }
    const begun = { kind: 'move', to: 'rolling_back', reason: 'no_reconnect', failedAttempts: 0, lostAttempts: 0 }
    expect(decide(gone, 3600, rollback)).toEqual(begun)
    expect(decide(gone, 3600)).toMatchObject({ kind: 'move', to: 'failed', reason: 'no_reconnect' })
  })

  test('is not restored if it kept its old version, or has no backup version', () => {
    const kept = { ...verifying, device: { ...upgraded, firmware: '1.0' } }
    expect(decide(kept, 1130, rollback)).toMatchObject({ to: 'failed', reason: 'not_applied' })
    const unable = { ...unstable, device: { ...unstable.device, commands: ['upgrade'] as const } }
    expect(decide(unable, 1130, rollback)).toMatchObject({ to: 'failed', reason: 'unstable' })
  })

  test('counts as failed once, when the restore begins', () => {
    const begin = stepOf(unstable, decide(unstable, 1130, rollback))
    expect(begin).toMatchObject({ to: 'rolling_back', order: 'restore_backup', reason: 'unstable' })
    expect(begin !== null && isHardFailure(begin)).toBe(true)
    const end = stepOf(restoring('done', old), decide(restoring('done', old), 2220, rollback))
    expect(end).toMatchObject({ to: 'failed', reason: 'rolled_back' })
    expect(end !== null && isHardFailure(end)).toBe(false)
  })
})

const rolledBack = { kind: 'move', to: 'failed', reason: 'rolled_back' }
const failed = { kind: 'move', to: 'failed', reason: 'rollback_failed' }
const waits = { kind: 'wait', untilMs: ms(2000) + 20 * 60_000 }
const withdraws = { kind: 'withdraw', commandId: 'c' }
const incomplete: DeviceNow = { ...upgraded, commands: ['upgrade'], memberFirmware: [updated.firmware ?? '', ''] }
const oldAway: DeviceNow = { ...old, link: 'absent', connectedMs: null, disconnectedMs: ms(2150) }
const lateOld: DeviceNow = { ...old, connectedMs: ms(3200) }
const never: DeviceNow = { ...oldAway, disconnectedMs: ms(1000) }
const unstable = { kind: 'move', to: 'failed', reason: 'rolled_back_unstable' }
const away: DeviceNow = { ...offline, commands: upgraded.commands }

/** Its request was lost with its connection; the device is back since second 2050, and has not booted. */
const back: DeviceNow = { ...upgraded, connectedMs: ms(2050) }
function lostBy(loss: CommandNow['loss'], device = back, more: Partial<TargetNow & CommandNow> = {}): TargetNow {
  const { isIdle = false, ...rest } = more
  const lost = command('unknown', { kind: 'restore_backup', loss, isIdle, sentAt: at(2000) })
  return { ...restoring('unknown', device), bootCount: 4, command: lost, ...rest }
}
const again = { ...request, failedAttempts: 2, lostAttempts: 1 }
const booted: DeviceNow = { ...back, bootCount: 5, bootedAt: at(2040) }
const bootedBefore: DeviceNow = { ...back, bootCount: 5, bootedAt: at(1990) }
const members = (...memberFirmware: string[]): DeviceNow => ({ ...back, connectedMs: ms(2000), memberFirmware })

describe.each(['connection_lost', 'gateway_lost'] as const)('a restore whose request was lost (%s)', (loss) => {
  test.each([
    ['waits for the device', lostBy(loss, away), 2100, waits],
    ['waits while the device may be shutting down', lostBy(loss), 2079, { kind: 'wait', untilMs: ms(2080) }],
    ['is requested again once the device does not', lostBy(loss), 2080, again],
    ['is requested again at once where the device is idle', lostBy(loss, back, { isIdle: true }), 2051, again],
    ['is requested again at once where the device has booted', lostBy(loss, booted), 2051, again],
    ['waits where it booted before the request', lostBy(loss, bootedBefore), 2051, { kind: 'wait', untilMs: ms(2080) }],
    ['is never requested of a device that has restored it', lostBy(loss, old, { isIdle: true }), 2220, rolledBack],
    ['waits where only a part has restored it', lostBy(loss, members('2.0', '1.0')), 2100, { kind: 'wait' }],
    ['waits for an absent member', lostBy(loss, members('2.0', '')), 2100, { kind: 'wait' }],
    ['is requested again of all members', lostBy(loss, members('2.0', '2.0')), 2100, again],
    ['waits for the capability', lostBy(loss, { ...back, commands: ['upgrade'] }), 2100, waits],
    ['is requested three times', lostBy(loss, back, { failedAttempts: 3, lostAttempts: 2, isIdle: true }), 2100, waits],
    ['fails in the end', lostBy(loss, back, { failedAttempts: 3, lostAttempts: 2 }), 3300, failed],
  ])('%s', (_, target, seconds, decision) => {
    for (const rules of [{}, { stopping: true }, { held: true }])
      expect(decide(target, seconds, { ...rollback, ...rules })).toMatchObject(decision)
  })

  test('may be under way where the device refuses the second request', () => {
    const refusing = { ...restoring('rejected'), failedAttempts: 2, lostAttempts: 1 }
    expect(decide(refusing, 2100, rollback)).toEqual(waits)
    expect(decide({ ...refusing, device: old }, 2220, rollback)).toEqual(rolledBack)
    expect(decide(refusing, 3300, rollback)).toEqual(failed)
  })
})

test.each([
  ['has failed at once where the device has booted with the version', restoring('done', booted), 2051, failed],
  ['waits where the device has not booted since', restoring('done', back), 2051, waits],
  ['waits where the device booted before the request', restoring('done', bootedBefore), 2051, waits],
  [
    'waits where the device has booted and is away again',
    restoring('done', { ...booted, link: 'absent' }),
    2051,
    waits,
  ],
  [
    'waits where a member may have restored it',
    restoring('done', { ...booted, memberFirmware: ['2.0', ''] }),
    2051,
    { kind: 'wait' },
  ],
  ['is requested of a device that has come back', { ...restoring(null), failedAttempts: 0 }, 2100, request],
  [
    'has happened where the device has come back with the old version by itself',
    restoring(null, old),
    2220,
    rolledBack,
  ],
  ['waits for an absent device', restoring(null, away), 2100, waits],
  ['gives up an absent device', restoring(null, away), 3300, failed],
  ['waits for an absent member', { ...restoring(null, incomplete), failedAttempts: 0 }, 2100, { kind: 'wait' }],
  ['gives up an absent member', { ...restoring(null, incomplete), failedAttempts: 0 }, 6000, failed],
  ['is not possible', restoring(null, { ...upgraded, commands: ['upgrade'] }), 2100, failed],
  ['waits for its command to be sent', restoring('queued'), 2100, { kind: 'wait' }],
  ['withdraws its command where it could not be sent for long', restoring('queued'), 2600, withdraws],
  ['waits until then', restoring('queued'), 2599, { kind: 'wait' }],
  [
    'waits where a member still runs the version',
    restoring('done', { ...old, memberFirmware: ['1.0', '2.0'] }),
    2220,
    { kind: 'wait' },
  ],
  ['withdraws its command where the device is away', restoring('queued', away), 2100, withdraws],
  ['is not requested again while it may be under way', restoring('sent'), 2100, waits],
  ['is not requested again where the device did not answer', lostBy('timeout'), 2100, waits],
  ['waits for the device to boot', restoring('done'), 2100, waits],
  ['has ended when the device is back with another version', restoring('done', old), 2220, rolledBack],
  [
    'has ended when all members are back with another version',
    restoring('done', { ...old, memberFirmware: ['1.0', '1.0'] }),
    2220,
    rolledBack,
  ],
  ['has ended so too where its answer was lost', restoring('unknown', old), 2220, rolledBack],
  ['waits until the device has stayed for the soak', restoring('done', old), 2219, { kind: 'wait', untilMs: ms(2220) }],
  [
    'gives a device that is back in time its soak',
    restoring('done', lateOld),
    3319,
    { kind: 'wait', untilMs: ms(3320) },
  ],
  ['has ended after the soak of a device that was late', restoring('done', lateOld), 3320, rolledBack],
  [
    'has restored a device that comes back again too late',
    restoring('done', { ...old, connectedMs: ms(3201) }),
    3400,
    unstable,
  ],
  ['waits for a device that fell off with its backup version', restoring('done', oldAway), 2220, waits],
  ['has restored a device that does not stay connected', restoring('done', oldAway), 3200, unstable],
  ['has done so also without a request', restoring(null, oldAway), 3200, unstable],
  ['has failed where the device never came back', restoring(null, never), 3200, failed],
  ['has failed where the device refuses', restoring('rejected'), 2100, failed],
  ['has failed where the device does not boot', restoring('done'), 3300, failed],
  ['is requested again where it was not sent', restoring('expired'), 2100, { ...request, failedAttempts: 2 }],
  ['is requested again where a stop took it back', restoring('cancelled'), 2100, { ...request, failedAttempts: 2 }],
  ['is given up where it can not be sent', { ...restoring('expired'), failedAttempts: 3 }, 2100, failed],
  [
    'is given up so with an absent member',
    { ...restoring('expired', members('2.0', '')), failedAttempts: 3 },
    2100,
    failed,
  ],
])('a restore %s', (_, target, seconds, decision) => {
  expect(decide(target, seconds, rollback)).toMatchObject(decision)
  // It leaves the device unchanged, so nothing that ends or pauses the upgrade prevents it, nor does it wait for a
  // turn.
  const closed = { beginMs: () => ms(99_999) }
  for (const rules of [{ stopping: true }, { held: true }, closed, { rebootMs: Infinity, mayDownload: false }])
    expect(decide(target, seconds, { ...rollback, ...rules })).toMatchObject(decision)
})

describe('the time to restore', () => {
  const upTo = (target: TargetNow, seconds: number, rules: Partial<TargetRules> = {}) =>
    [seconds - 1, seconds].map((second) => decide(target, 2000 + second, { ...rollback, ...rules }).kind)
  test.each([
    ['ap', [], 20],
    ['switch', ['2.0'], 20],
    ['switch', ['2.0', '2.0'], 30],
    ['gateway', ['2.0', '2.0'], 90],
  ] as const)('of a device of the type %s with the members %j is %i minutes', (type, memberFirmware, minutes) => {
    const target = restoring('done', { ...upgraded, type, memberFirmware })
    expect(upTo(target, minutes * 60)).toEqual(['wait', 'move'])
  })

  test('is longer after a start of the service, for a device that is not back', () => {
    const grace = { graceUntilMs: ms(4000) }
    expect(upTo(restoring('done', away), 2000, grace)).toEqual(['wait', 'move'])
    expect(upTo(restoring('done'), 1200, grace)).toEqual(['wait', 'move'])
  })
})
