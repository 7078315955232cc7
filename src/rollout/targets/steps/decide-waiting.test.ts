import { describe, expect, it } from 'vitest'
import {
  decide,
  downloaded,
  expected,
  move,
  ms,
  offline,
  online,
  planned,
  staging,
} from '../../../../test/support/fleets/targets.ts'
import { defaultRolloutOptions } from '../../rollout.ts'
import type { TargetDecision, TargetNow, TargetRules } from '../target.ts'

const DAYS_14 = defaultRolloutOptions.downloadedDeadlineMs / 1000
const waiting: TargetNow = { ...downloaded, enteredMs: ms(100) }
const blocked = { rebootMs: Infinity, openedMs: ms(0) }

it('a device that has downloaded is cancelled where it did not get to reboot within 14 days', () => {
  expect(decide(waiting, 99 + DAYS_14, blocked)).toEqual({ kind: 'wait', untilMs: Infinity })
  expect(decide(waiting, 100 + DAYS_14, blocked)).toEqual(move('cancelled', 'not_rebooted'))
})

it('the 14 days begin when it may reboot, and do not end while the upgrade is paused', () => {
  expect(decide(waiting, 100 + DAYS_14, { ...blocked, openedMs: ms(101) })).not.toMatchObject({ kind: 'move' })
  expect(decide(waiting, 100 + DAYS_14, { ...blocked, openedMs: null })).not.toMatchObject({ kind: 'move' })
  expect(decide(waiting, 100 + DAYS_14, { ...blocked, held: true })).toEqual({ kind: 'wait' })
})

it('a device without its image is not cancelled for that', () => {
  expect(decide({ ...planned, device: staging }, 100 + DAYS_14, blocked)).not.toMatchObject({ to: 'cancelled' })
})

const command = (order: string) => ({ kind: 'command', order, failedAttempts: 0, lostAttempts: 0 })
const able = { ...planned, device: staging }
const done = { ...staging, firmware: '2.0' }

it('a device is commanded at the instant of its reboot, and at the end of its pause, and not before', () => {
  expect(decide(planned, 60, { rebootMs: ms(61) })).toEqual({ kind: 'wait', untilMs: ms(61) })
  expect(decide(planned, 61, { rebootMs: ms(61) })).toEqual(command('upgrade'))
  const paused = { ...planned, retryAtMs: ms(61) }
  expect(decide(paused, 60)).toEqual({ kind: 'wait', untilMs: ms(61) })
  expect(decide(paused, 61)).toEqual(command('upgrade'))
  const refused = { ...able, state: 'reboot_requested', staged: true, retryAtMs: ms(61) } as const
  expect(decide({ ...refused, command: downloaded.command }, 61, { rebootMs: ms(62) })).toMatchObject({ kind: 'move' })
})

describe('before the reboots', () => {
  const before = { rebootMs: ms(100) }
  const untilReboot = { kind: 'wait', untilMs: ms(100) }
  it.each([
    ['a device downloads if it can do so separately', able, command('stage')],
    ['a device that can not waits', planned, untilReboot],
    ['an absent device waits', { ...able, device: { ...staging, link: 'absent', connectedMs: null } }, untilReboot],
    ['a device that has its image waits', { ...able, state: 'downloaded', staged: true }, untilReboot],
    ['a device that runs the version waits', { ...able, device: done }, untilReboot],
    [
      'a device that runs the version downloads it if that is forced',
      { ...able, device: done, force: true },
      command('stage'),
    ],
  ] satisfies [string, TargetNow, unknown][])('%s', (_, target, decision) => {
    expect(decide(target, 61, before)).toEqual(decision)
  })
})

describe('in a phase of the downloads', () => {
  const closed = { beginMs: () => ms(7200) }
  const window = { kind: 'wait', untilMs: ms(7200), for: 'window' }
  const waits = { kind: 'wait' }
  const staged = { ...downloaded, downloadPhase: 1 }
  const deferred = { state: 'deferred' } as const
  const retry = { retryAtMs: ms(62) }
  it.each<[string, Partial<TargetNow>, Partial<TargetRules>, unknown]>([
    ['a device downloads', {}, {}, command('stage')],
    ['a device waits for the window', {}, closed, window],
    ['an absent device waits for the window', { device: offline }, closed, window],
    ['an absent device is deferred', { device: offline }, {}, move('deferred')],
    ['a device that is on its way back is waited for', { device: expected }, {}, waits],
    ['a device that can not download separately is deferred', { device: online }, {}, move('deferred')],
    ['a device that can not waits then', { ...deferred, device: online }, {}, waits],
    ['a device waits for its turn', {}, { mayDownload: false }, waits],
    ['a device that has its image waits', { ...staged }, {}, waits],
    ['a device that has its image counts again when it is back', { ...staged, ...deferred }, {}, move('downloaded')],
    ['so it does where it has no turn', { ...staged, ...deferred }, { mayDownload: false }, move('downloaded')],
    ['a device that runs the version is skipped', { device: done }, {}, move('skipped')],
    ['a device that an earlier attempt upgraded is verified', { device: done, attempt: 1 }, {}, move('verifying')],
    [
      'a device that runs the version downloads it if that is forced',
      { device: done, force: true },
      {},
      command('stage'),
    ],
    ['a device waits for the end of its pause', retry, {}, { kind: 'wait', untilMs: ms(62) }],
    ['a device downloads at the end of its pause', { retryAtMs: ms(61) }, {}, command('stage')],
    ['a device that has its image reboots in its turn', { ...staged }, { rebootMs: ms(61) }, command('activate')],
  ])('%s', (_, target, rules, decision) => {
    const found: TargetDecision = decide({ ...able, downloadPhase: 1, ...target }, 61, { rebootMs: Infinity, ...rules })
    expect(found).toEqual(decision)
  })
})
