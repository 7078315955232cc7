import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  command,
  commanded,
  decide,
  move,
  ms,
  offline,
  online,
  planned,
  updated,
} from '../../../../test/support/fleets/targets.ts'
import { beginsWithin, findClosedUntil, findWindowWait, sendBy } from './decide-window.ts'
import { defaultRolloutOptions } from '../../rollout.ts'
import type { TargetNow, TargetRules } from '../target.ts'

const MINUTE = 60_000

const opens = ms(7200)
/** Closed, but for nothing. */
const closed = { beginMs: () => opens }
const waits = { kind: 'wait', untilMs: opens, for: 'window' }

describe('outside of the maintenance windows', () => {
  test.each<[string, TargetNow, Partial<TargetRules>, unknown]>([
    ['a planned device waits', planned, {}, waits],
    ['an absent one is not deferred', { ...planned, device: offline }, {}, waits],
    ['a deferred one that is back waits', { ...planned, state: 'deferred' }, {}, waits],
    ['a staged one waits for its reboot', { ...planned, state: 'downloaded', staged: true }, {}, waits],
    [
      'one that runs the version is skipped',
      { ...planned, device: { ...online, firmware: '2.0' } },
      {},
      move('skipped'),
    ],
    ['a stop cancels', planned, { stopping: true }, move('cancelled')],
    ['a device that has arrived is verified', commanded('sent', { device: updated }), {}, move('verifying')],
    [
      'an absent one is not given up at the deadline',
      { ...planned, state: 'deferred', device: offline },
      { offlineDeadlineMs: 0 },
      waits,
    ],
    ['a command that was not sent is withdrawn', commanded('queued'), {}, { kind: 'withdraw', commandId: 'c' }],
    [
      'its attempt is not repeated',
      commanded('cancelled'),
      {},
      { ...move('planned'), failedAttempts: 0, lostAttempts: 0 },
    ],
  ])('%s', (_, target, rules, decision) => {
    expect(decide(target, 61, { ...closed, ...rules })).toEqual(decision)
  })

  test('a device that no window is long enough for fails, without a command', () => {
    const beginMs = (needMs: number): number | null => (needMs > 0 ? null : 0)
    expect(decide(planned, 61, { beginMs })).toEqual(move('failed', 'window_too_short'))
    const again = { ...move('failed', 'window_too_short'), failedAttempts: 1, lostAttempts: 2 }
    expect(decide(commanded('cancelled', { failedAttempts: 1, lostAttempts: 2 }), 61, { beginMs })).toEqual(again)
  })

  test('a device is commanded at the instant at which the window opens', () => {
    expect(decide(planned, 61, { beginMs: () => ms(61) })).toMatchObject({ kind: 'command' })
  })
})

test('a queued command is withdrawn as soon as its device could no longer end in the window', () => {
  const beginMs = (needMs: number): number => (needMs > 0 ? opens : 0)
  expect(decide(commanded('queued'), 61, { beginMs })).toEqual({ kind: 'withdraw', commandId: 'c' })
  const loading = commanded('queued', { command: command('queued', { kind: 'stage' }) })
  expect(decide(loading, 61, { beginMs })).toEqual({ kind: 'wait' })
})

test('a command may be sent until its device would end after the window', () => {
  const closesAt = new Date('2026-03-01T04:00:00Z')
  const rules = { closesAt, options: defaultRolloutOptions }
  expect(sendBy('stage', online, rules)).toEqual(closesAt)
  expect(sendBy('upgrade', online, rules)).toEqual(new Date('2026-03-01T03:50:00Z'))
})

test('a download has to begin within a window, a reboot to end within it, by the class of the device', () => {
  const asked: number[] = []
  const beginMs = (needMs: number): number => {
    asked.push(needMs / MINUTE)
    return 0
  }
  const rules = { nowMs: 0, beginMs, options: defaultRolloutOptions }
  const chassis = { ...online, type: 'switch' as const, memberFirmware: ['1.0', '1.0'] }
  findWindowWait('stage', online, rules)
  findWindowWait('upgrade', online, rules)
  findWindowWait('activate', { ...chassis, memberFirmware: ['1.0'] }, rules)
  findWindowWait('activate', chassis, rules)
  findWindowWait('activate', { ...chassis, type: 'gateway' }, rules)
  expect(asked).toEqual([0, 10, 20, 30, 90])
})

test('instants of windows become times of the service', () => {
  const at = { now: new Date('2026-06-13T12:00:00Z'), nowMs: 5000 }
  const windows = [{ start: '12:10', end: '13:00' }]
  const beginMs = beginsWithin({ windows, timezone: 'UTC' }, at)
  expect([beginMs(0), beginMs(50 * MINUTE), beginMs(51 * MINUTE), beginMs(0)]).toEqual([
    5000 + 10 * MINUTE,
    5000 + 10 * MINUTE,
    null,
    5000 + 10 * MINUTE,
  ])
  expect(beginsWithin({ timezone: 'UTC' }, at)(90 * MINUTE)).toBe(5000)
})

test('a window that is open is open at every instant of the service, which has fractions of milliseconds', () => {
  const windows = [{ start: '12:00', end: '13:00' }]
  const wall = fc.integer({ min: 0, max: 60 * MINUTE - 1 }).map((ms) => new Date(Date.UTC(2026, 5, 13, 12) + ms))
  fc.assert(
    fc.property(wall, fc.double({ min: 0, max: 1e10, noNaN: true }), (now, nowMs) => {
      const beginMs = beginsWithin({ windows, timezone: 'UTC' }, { now, nowMs })
      expect([beginMs(0), findClosedUntil({ nowMs, beginMs })]).toEqual([nowMs, null])
    }),
  )
})
