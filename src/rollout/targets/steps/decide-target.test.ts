import { describe, expect, test } from 'vitest'
import {
  ms,
  MINUTE,
  online,
  offline,
  expected,
  updated,
  planned,
  command,
  commanded,
  decide,
  move,
} from '../../../../test/support/fleets/targets.ts'
import type { CommandNow, TargetNow } from '../target.ts'

describe('a planned or deferred target', () => {
  const deferred: TargetNow = { ...planned, state: 'deferred', device: offline }
  test.each([
    ['is commanded when online', planned, { kind: 'command', order: 'upgrade', failedAttempts: 0, lostAttempts: 0 }],
    ['is skipped on its version', { ...planned, device: { ...online, firmware: '2.0' } }, move('skipped')],
    [
      'is commanded on its version if forced',
      { ...planned, force: true, device: { ...online, firmware: '2.0' } },
      { kind: 'command', order: 'upgrade', failedAttempts: 0, lostAttempts: 0 },
    ],
    ['is deferred when offline', { ...planned, device: offline }, move('deferred')],
    ['waits while offline', deferred, { kind: 'wait' }],
    [
      'is commanded when it returns',
      { ...deferred, device: online },
      { kind: 'command', order: 'upgrade', failedAttempts: 0, lostAttempts: 0 },
    ],
    [
      'is verified when it returns updated from an earlier attempt',
      { ...deferred, attempt: 1, device: updated },
      move('verifying'),
    ],
    ['is cancelled when its device is gone', { ...planned, device: null }, move('cancelled', 'removed')],
    [
      'is cancelled if its device runs too low a version',
      { ...planned, unfit: 'runs 0.9' },
      move('cancelled', 'runs 0.9'),
    ],
    ['is deferred with too low a version', { ...planned, unfit: 'runs 0.9', device: offline }, move('deferred')],
  ])('%s', (_, target, decision) => {
    expect(decide(target)).toEqual(decision)
  })

  test('is given up at the deadline, softly', () => {
    expect(decide(deferred, 61, { offlineDeadlineMs: ms(61) })).toEqual(move('failed', 'offline'))
    expect(decide(deferred, 60, { offlineDeadlineMs: ms(61) })).toEqual({ kind: 'wait' })
    // The service has just started.
    expect(decide(deferred, 61, { offlineDeadlineMs: ms(61), graceUntilMs: ms(62) })).toEqual({ kind: 'wait' })
  })

  test('waits while the upgrade is held, at its deadline too', () => {
    expect(decide(planned, 61, { held: true })).toEqual({ kind: 'wait' })
    expect(decide(deferred, 61, { held: true, offlineDeadlineMs: ms(61) })).toEqual({ kind: 'wait' })
    expect(decide({ ...planned, device: null }, 61, { held: true })).toEqual(move('cancelled', 'removed'))
    expect(decide({ ...planned, device: null }, 61, { stopping: true })).toEqual(move('cancelled', 'removed'))
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
      { kind: 'withdraw', commandId: 'c' },
    ],
    [
      'takes its command back once it has arrived',
      commanded('queued', { device: updated }),
      { kind: 'withdraw', commandId: 'c' },
    ],
    ['is cancelled where its command is gone', commanded('sent', { command: null }), move('cancelled', 'removed')],
    [
      'has not arrived before it is back',
      commanded('sent', { device: { ...offline, firmware: '2.0' } }),
      { kind: 'wait' },
    ],
    ['shows that it downloads', commanded('sent', { download: bytes }), move('downloading')],
    [
      'does not download before the first byte',
      commanded('sent', { download: { ...bytes, bytesServed: 0 } }),
      { kind: 'wait' },
    ],
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
    [
      'downloads no more where its only request ended with the service',
      commanded('unknown', { download: bytes, command: command('unknown', { loss: 'gateway_lost' }) }),
      { kind: 'fence', commandId: 'c', imageId: 'i' },
    ],
    [
      'downloads no more where the device is back and idle',
      commanded('unknown', { download: bytes, command: command('unknown', { isIdle: true }) }),
      { kind: 'fence', commandId: 'c', imageId: 'i' },
    ],
    [
      'has arrived where it was forced, has the image and has booted',
      commanded('unknown', {
        force: true,
        fromVersion: '2.0',
        device: updated,
        download: { ...bytes, delivered: true },
      }),
      move('verifying'),
    ],
    ['is fenced before anything is repeated', commanded('unknown'), { kind: 'fence', commandId: 'c', imageId: 'i' }],
    [
      'is cancelled when its device is gone',
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
    expect(decide(paused, 121)).toEqual({ kind: 'command', order: 'upgrade', failedAttempts: 2, lostAttempts: 0 })
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

  test('an attempt that the gateway broke off is not a failure of the device, however many there are', () => {
    const lost = lostBy('gateway_lost', { failedAttempts: 2, attempt: 99 })
    expect(decide(lost)).toEqual({ kind: 'command', order: 'upgrade', failedAttempts: 2, lostAttempts: 0 })
    expect(decide({ ...lost, device: expected })).toEqual({ kind: 'wait' })
    expect(decide({ ...lost, device: offline })).toEqual(move('deferred'))
    expect(decide(lost, 61, { stopping: true })).toEqual(move('cancelled'))
    const counted = { failedAttempts: 1, lostAttempts: 0 }
    const pause = { kind: 'pause', reason: 'unresponsive', ...counted, retryAtMs: ms(61) }
    expect(decide(lostBy('timeout', { device: expected }))).toEqual(pause)
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
    expect(decide(lostBy('timeout'))).toEqual({ kind: 'command', order: 'upgrade', failedAttempts: 1, lostAttempts: 0 })
    expect(decide(lostBy('timeout', { failedAttempts: 2 }))).toEqual({
      ...move('failed', 'unresponsive'),
      failedAttempts: 3,
      lostAttempts: 0,
    })
  })

  test('a command that could not be sent in time is taken back', () => {
    expect(decide(commanded('queued'), 10 * MINUTE)).toEqual({ kind: 'withdraw', commandId: 'c' })
  })

  test('is not waited for without end', () => {
    expect(decide(commanded('sent'), 120 * MINUTE)).toEqual({ kind: 'fence', commandId: 'c', imageId: 'i' })
  })

  test('a hold takes back what is queued, and lets no attempt follow', () => {
    const held = { held: true }
    expect(decide(commanded('queued'), 61, held)).toEqual({ kind: 'withdraw', commandId: 'c' })
    // The device is present, so its phase waits for it.
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
    expect(decide(commanded('queued'), 61, stop)).toEqual({ kind: 'withdraw', commandId: 'c' })
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
