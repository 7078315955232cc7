import { describe, expect, test } from 'vitest'
import {
  MINUTE,
  command,
  decide,
  expected,
  move,
  ms,
  offline,
  online,
  updated,
  verifying,
} from '../../../../test/support/fleets/targets.ts'
import { stepOf } from '../../rounds/decide-step.ts'
import type { CommandNow, TargetNow } from '../target.ts'

const able = { ...updated, commands: ['restart', 'upgrade', 'snapshot'] } as const
const verified: TargetNow = { ...verifying, device: able }
/** Verified at 300 s, without a request yet. */
const awaiting: TargetNow = { ...verified, state: 'snapshotting', enteredMs: ms(300) }
const asked = (state: CommandNow['state'], more: Partial<CommandNow> = {}): TargetNow => {
  return { ...awaiting, command: command(state, { kind: 'snapshot', ...more }) }
}
const order = { kind: 'command', order: 'snapshot', failedAttempts: 0, lostAttempts: 0 }
const rules = { snapshot: true }

describe('a verified device', () => {
  test('takes a recovery snapshot where one is wanted', () => {
    expect(decide(verified, 300, rules)).toEqual(move('snapshotting'))
    expect(decide(verified, 300)).toEqual(move('upgraded'))
  })

  test('is asked for none before it has been connected for long enough', () => {
    expect(decide(verified, 150, rules)).toMatchObject({ kind: 'wait' })
  })

  test('is asked for none where a member runs another version', () => {
    const device = { ...able, memberFirmware: ['2.0', '1.0'] }
    expect(decide({ ...verified, device }, 300, rules)).toMatchObject({ kind: 'wait' })
  })
})

describe('a device that is to take a snapshot', () => {
  test.each([
    ['is asked to', awaiting, {}, order],
    ['is asked to, also where no command of this run has upgraded it', { ...awaiting, command: null }, {}, order],
    ['is not asked while the upgrade is held', awaiting, { held: true }, { kind: 'wait' }],
    ['is not asked once the upgrade stops', awaiting, { stopping: true }, move('upgraded', 'cancelled')],
    [
      'and that can no longer take one is upgraded',
      { ...awaiting, device: online },
      {},
      move('upgraded', 'not_supported'),
    ],
    ['and is gone is upgraded', { ...awaiting, device: null }, {}, move('upgraded', 'removed')],
    [
      'and is absent has time to return',
      { ...awaiting, device: { ...offline, commands: able.commands } },
      {},
      { kind: 'wait', untilMs: ms(300 + 10 * MINUTE) },
    ],
    [
      'and is on its way back has the grace of the site',
      { ...awaiting, device: { ...expected, commands: able.commands } },
      { graceUntilMs: ms(9000) },
      { kind: 'wait', untilMs: ms(9000) },
    ],
    ['waits for its command to be sent', asked('queued'), {}, { kind: 'wait' }],
    [
      'has it withdrawn when the upgrade stops',
      asked('queued'),
      { stopping: true },
      { kind: 'withdraw', commandId: 'c' },
    ],
    ['goes on with it when the upgrade stops', asked('sent'), { stopping: true }, { kind: 'wait' }],
    ['has taken it', asked('done'), {}, move('upgraded')],
    ['has refused it', asked('rejected', { refusal: 'No space' }), {}, move('upgraded', 'No space')],
    ['may have taken it', asked('unknown', { loss: 'gateway_lost' }), {}, move('upgraded', 'gateway_lost')],
    ['could not be asked', asked('cancelled'), {}, move('upgraded', 'offline')],
    ['was not asked any more', asked('cancelled'), { stopping: true }, move('upgraded', 'cancelled')],
  ] as const)('%s', (_, target, more, decision) => {
    expect(decide(target, 310, { ...rules, ...more })).toEqual(decision)
  })

  test('is given up when it stays away', () => {
    const away = { ...awaiting, device: { ...offline, commands: able.commands } }
    expect(decide(away, 300 + 10 * MINUTE, rules)).toEqual(move('upgraded', 'offline'))
  })

  test('has a command withdrawn that can not be sent for long', () => {
    expect(decide(asked('queued'), 300 + 10 * MINUTE, rules)).toEqual({ kind: 'withdraw', commandId: 'c' })
  })

  test('is not waited for longer than any command takes', () => {
    expect(decide(asked('sent'), 300 + 120 * MINUTE, rules)).toEqual(move('upgraded', 'timeout'))
  })

  // No result of the command makes the engine send another one.
  test.each(['queued', 'sent', 'done', 'rejected', 'unknown', 'expired', 'cancelled'] as const)(
    'is asked once: its command is %s',
    (state) => {
      for (const seconds of [300, 10 * MINUTE, 300 * MINUTE])
        for (const device of [able, online, offline, null])
          expect(decide({ ...asked(state), device }, seconds, rules).kind).not.toBe('command')
    },
  )
})

test('the order of a snapshot keeps the target where it is', () => {
  expect(stepOf(awaiting, { kind: 'command', order: 'snapshot', failedAttempts: 0, lostAttempts: 0 })).toMatchObject({
    to: 'snapshotting',
    order: 'snapshot',
    reason: null,
  })
})
