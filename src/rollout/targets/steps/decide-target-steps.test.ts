import { describe, expect, test } from 'vitest'
import {
  MINUTE,
  decide,
  downloaded,
  expected,
  move,
  ms,
  offline,
  online,
  ordered,
  planned,
  staging,
  updated,
} from '../../../../test/support/fleets/targets.ts'
import { defaultRolloutOptions } from '../../rollout.ts'
import type { CommandNow, DownloadNow, TargetNow } from '../target.ts'

const waiting: TargetNow = { ...planned, device: staging }
const delivered: DownloadNow = { bytesServed: 100, touchedMs: ms(30), delivered: true, fenced: false }
const attempts = { failedAttempts: 0, lostAttempts: 0 }
const order = (kind: CommandNow['kind'], counts: Partial<typeof attempts> = {}) => {
  return { kind: 'command', order: kind, ...attempts, ...counts }
}
const early = { rebootMs: ms(3600) }
const stop = { stopping: true }
const held = { held: true }

describe('before the reboots begin, a device', () => {
  test.each([
    ['that stages is asked to', waiting, order('stage')],
    [
      'that stages is not asked to while it is absent',
      { ...waiting, device: offline },
      { kind: 'wait', untilMs: ms(3600) },
    ],
    [
      'that needs no upgrade waits',
      { ...waiting, device: { ...staging, firmware: '2.0' } },
      { kind: 'wait', untilMs: ms(3600) },
    ],
    ['that does it in one step waits', planned, { kind: 'wait', untilMs: ms(3600) }],
    [
      'that can stage, but not activate, waits',
      { ...waiting, device: { ...staging, commands: ['stage', 'upgrade'] } },
      { kind: 'wait', untilMs: ms(3600) },
    ],
    ['that has the image waits', downloaded, { kind: 'wait', untilMs: ms(3600) }],
    ['whose download failed is asked again', { ...waiting, attempt: 1, retryAtMs: ms(50) }, order('stage')],
    [
      'that lost the ability to stage waits',
      { ...ordered('stage', 'cancelled'), device: online },
      { ...move('planned'), ...attempts },
    ],
  ] as const)('%s', (_, target, decision) => {
    expect(decide(target, 61, early)).toEqual(decision)
  })

  test('gets no command while the upgrade is held, and is cancelled when it stops', () => {
    expect(decide(waiting, 61, { ...early, ...held })).toEqual({ kind: 'wait' })
    expect(decide(downloaded, 61, { ...early, ...held })).toEqual({ kind: 'wait' })
    expect(decide(downloaded, 61, { ...early, ...stop })).toEqual(move('cancelled'))
  })
})

describe('a device that stages', () => {
  test('has the image when it says so, or got all of it and its answer is lost', () => {
    expect(decide(ordered('stage', 'done'))).toEqual(move('downloaded'))
    for (const loss of ['timeout', 'connection_lost', 'gateway_lost'] as const)
      expect(decide({ ...ordered('stage', 'unknown', { loss }), download: delivered })).toEqual(move('downloaded'))
  })

  test('is fenced, and asked again, where its answer is lost and it did not get the image', () => {
    const lost = ordered('stage', 'unknown', { loss: 'gateway_lost' })
    expect(decide(lost)).toEqual({ kind: 'fence', commandId: 'c', imageId: 'i' })
    expect(decide({ ...lost, download: { ...delivered, delivered: false, fenced: true } })).toEqual(order('stage'))
  })

  test('loses its download when the upgrade stops, or keeps an image that is never activated', () => {
    expect(decide(ordered('stage', 'sent'), 61, stop)).toEqual({ kind: 'fence', commandId: 'c', imageId: 'i' })
    const fenced = { ...ordered('stage', 'sent'), download: { ...delivered, delivered: false, fenced: true } }
    expect(decide(fenced, 61, stop)).toEqual(move('cancelled'))
    expect(decide({ ...ordered('stage', 'sent'), download: delivered }, 61, stop)).toEqual(move('cancelled'))
  })

  test('onto its own version has not arrived because it booted in between', () => {
    const same = {
      ...ordered('stage', 'sent'),
      fromVersion: '2.0',
      force: true,
      device: { ...updated, commands: staging.commands },
    }
    expect(decide({ ...same, state: 'downloading', download: delivered }, 161)).toEqual({ kind: 'wait' })
  })
})

describe('a device that has the image', () => {
  test('is asked to activate it once the reboots begin, and waits for that while the upgrade is held', () => {
    expect(decide(downloaded)).toEqual(order('activate'))
    expect(decide(downloaded, 61, held)).toEqual({ kind: 'wait' })
  })

  test('is waited for where it is on its way back, and not where it is absent; then it activates when it comes', () => {
    expect(decide({ ...downloaded, device: expected })).toEqual({ kind: 'wait' })
    expect(decide({ ...downloaded, device: offline })).toEqual(move('deferred'))
    expect(decide({ ...downloaded, state: 'deferred' })).toEqual(order('activate'))
  })

  test('is verified if it was upgraded by other means', () => {
    expect(decide({ ...downloaded, device: { ...updated, commands: staging.commands } }, 161)).toEqual(
      move('verifying'),
    )
  })

  test('downloads again in one step where it can do nothing else any more', () => {
    expect(decide({ ...downloaded, device: online })).toEqual(order('upgrade'))
  })
})

describe('a device that is asked to activate', () => {
  test('reboots when it says so, or where its answer is lost: nothing is sent again', () => {
    expect(decide(ordered('activate', 'done'))).toEqual(move('rebooting'))
    for (const loss of ['timeout', 'connection_lost', 'gateway_lost'] as const)
      expect(decide(ordered('activate', 'unknown', { loss }))).toEqual(move('rebooting'))
    expect(decide(ordered('activate', 'sent'), defaultRolloutOptions.stallMs)).toEqual(move('rebooting'))
  })

  test("can't be stopped once that was sent, and is not asked before", () => {
    expect(decide(ordered('activate', 'sent'), 61, stop)).toEqual({ kind: 'wait' })
    expect(decide(ordered('activate', 'queued'), 61, stop)).toEqual({ kind: 'withdraw', commandId: 'c' })
    expect(decide(ordered('activate', 'queued'), 61, held)).toEqual({ kind: 'withdraw', commandId: 'c' })
  })

  test('keeps its image where the command was withdrawn', () => {
    const withdrawn = ordered('activate', 'cancelled')
    expect(decide(withdrawn, 61, held)).toEqual(move('downloaded'))
    expect(decide({ ...withdrawn, device: offline })).toEqual(move('deferred'))
    expect(decide(withdrawn)).toEqual(order('activate'))
  })

  test('downloads anew after a refusal, because it may have lost the image', () => {
    const refused = ordered('activate', 'rejected', { refusal: 'no image' })
    const pause = { kind: 'pause', reason: 'no image', ...attempts, failedAttempts: 1, staged: false }
    expect(decide(refused)).toEqual({ ...pause, retryAtMs: ms(61) + defaultRolloutOptions.retryMs })
    const paused = { ...refused, staged: false, failedAttempts: 1, retryAtMs: ms(91) }
    expect(decide(paused, 91)).toEqual(order('stage', { failedAttempts: 1 }))
  })

  test('and stays as it was is asked once more where its answer was lost, and downloads anew where it had said yes', () => {
    const quiet: TargetNow = { ...ordered('activate', 'unknown'), state: 'rebooting', enteredMs: ms(60) }
    expect(decide(quiet, 10 * MINUTE)).toEqual(order('activate', { lostAttempts: 1 }))
    const liar: TargetNow = { ...ordered('activate', 'done'), state: 'rebooting', enteredMs: ms(60) }
    expect(decide(liar, 10 * MINUTE)).toEqual(order('stage', { failedAttempts: 1 }))
  })

  test('onto its own version has arrived once it booted after that', () => {
    const device = { ...updated, commands: staging.commands }
    const same = { ...ordered('activate', 'sent'), fromVersion: '2.0', force: true }
    expect(decide({ ...same, device: { ...staging, firmware: '2.0' } }, 161)).toEqual({ kind: 'wait' })
    expect(decide({ ...same, device }, 161)).toEqual(move('verifying'))
  })
})

describe('an upgrade that is to download only', () => {
  const only = { only: 'stage' } as const

  test('asks the device to download, and ends with that', () => {
    expect(decide(waiting, 61, only)).toEqual(order('stage'))
    expect(decide(ordered('stage', 'done'), 61, only)).toEqual({ ...move('staged'), staged: true })
    const lost = { ...ordered('stage', 'unknown', { loss: 'connection_lost' }), download: delivered }
    expect(decide(lost, 61, only)).toMatchObject({ kind: 'move', to: 'staged' })
  })

  test('does not end before that', () => {
    expect(decide({ ...waiting, device: offline }, 61, only)).toEqual(move('deferred'))
    expect(decide(ordered('stage', 'sent'), 61, only)).toEqual({ kind: 'wait' })
  })

  test('fails for a device that could only download and reboot in one step', () => {
    expect(decide({ ...waiting, device: { ...staging, commands: ['upgrade'] } }, 61, only)).toEqual(
      move('failed', 'not_staged'),
    )
  })
})

describe('an upgrade that is to install only', () => {
  const only = { only: 'activate' } as const
  const has: TargetNow = { ...waiting, staged: true }

  test('asks the device to install at the time of the reboots', () => {
    expect(decide(has, 61, { ...only, ...early })).toEqual({ kind: 'wait', untilMs: ms(3600) })
    expect(decide(has, 61, only)).toEqual(order('activate'))
  })

  test('fails where the device turns out not to have the image, instead of a download', () => {
    const refused = { ...ordered('activate', 'rejected', { refusal: 'not downloaded' }), staged: true }
    const paused = decide(refused, 61, only)
    expect(paused).toMatchObject({ kind: 'pause', staged: false })
    const next = { ...refused, staged: false, failedAttempts: 1, retryAtMs: ms(90) }
    expect(decide(next, 100, only)).toEqual(move('failed', 'not_activated'))
  })
})
