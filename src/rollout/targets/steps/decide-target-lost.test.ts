import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  MINUTE,
  at,
  command,
  decide,
  expected,
  move,
  ms,
  offline,
  online,
  ordered,
  planned,
  staging,
} from '../../../../test/support/fleets/targets.ts'
import { stepOf } from '../../rounds/decide-step.ts'
import { defaultRolloutOptions, isTerminal } from '../../rollout.ts'
import type { CommandNow, DeviceNow, TargetNow } from '../target.ts'

const able: DeviceNow = { ...staging, type: 'switch', repeatable: ['activate'] }
const losing = (more: Partial<CommandNow>, device: DeviceNow = able): TargetNow => {
  return { ...ordered('activate', 'unknown', more), device }
}
const attempts = { failedAttempts: 0, lostAttempts: 0 }
const again = { kind: 'command', order: 'activate', ...attempts }
const IDLE_S = defaultRolloutOptions.downloadIdleMs / 1000
const INSTALL_S = defaultRolloutOptions.installMs / 1000
const SHUTDOWN_S = defaultRolloutOptions.shutdownMs / 1000

describe('a lost activation that may be repeated', () => {
  test('is repeated at once where the gateway ended, at no cost, and when the device is back', () => {
    const lost = losing({ loss: 'gateway_lost' })
    expect(decide(lost)).toEqual(again)
    expect(decide({ ...lost, device: { ...expected, repeatable: able.repeatable } })).toEqual({ kind: 'wait' })
    expect(decide({ ...lost, device: { ...offline, repeatable: able.repeatable } })).toEqual(move('deferred'))
  })

  test('is repeated after a pause where the connection broke, and keeps the image', () => {
    const lost = losing({ loss: 'connection_lost' })
    const pause = { kind: 'pause', reason: 'connection_lost', failedAttempts: 0, lostAttempts: 1, retryAtMs: ms(91) }
    expect(decide(lost)).toEqual(pause)
    const paused = { ...lost, lostAttempts: 1, retryAtMs: ms(91) }
    expect(decide(paused, 90)).toEqual({ kind: 'wait', untilMs: ms(91) })
    expect(decide(paused, 91)).toEqual({ ...again, lostAttempts: 1 })
  })

  test('is not repeated while the upgrade is held or stopped', () => {
    const lost = losing({ loss: 'gateway_lost' })
    expect(decide(lost, 61, { held: true })).toEqual(move('downloaded'))
    expect(decide(lost, 61, { stopping: true })).toEqual(move('cancelled'))
  })

  test('is repeated where it may have requested the reboot, once the device stays connected without a boot', () => {
    for (const loss of ['gateway_lost', 'connection_lost', 'timeout'] as const) {
      const lost = losing({ loss, mayReboot: true })
      expect(decide(lost)).toEqual(move('rebooting'))
      const rebooting: TargetNow = { ...lost, state: 'rebooting', enteredMs: ms(60) }
      expect(decide(rebooting, 61)).toEqual({ kind: 'wait', untilMs: ms(60 + SHUTDOWN_S) })
      expect(decide(rebooting, 60 + SHUTDOWN_S)).toEqual({ ...again, lostAttempts: 1 })
      const booted = { ...able, bootCount: 4, bootedAt: at(70), connectedMs: ms(70) }
      expect(decide({ ...rebooting, device: booted }, 60 + SHUTDOWN_S)).toEqual(move('failed', 'not_applied'))
    }
  })

  test('is waited for as long as a reboot takes where the device does not show its boots, or is a cluster', () => {
    for (const device of [
      { ...able, isBootKnown: false },
      { ...able, repeatable: [] },
    ]) {
      const rebooting: TargetNow = { ...losing({ mayReboot: true }, device), state: 'rebooting', enteredMs: ms(60) }
      expect(decide(rebooting, 61)).toEqual({ kind: 'wait', untilMs: ms(60 + 20 * MINUTE) })
    }
  })

  test('is waited for where the device had taken too long: its installation may still run', () => {
    const lost = losing({ loss: 'timeout' })
    expect(decide(lost)).toEqual(move('rebooting'))
    const rebooting: TargetNow = { ...lost, state: 'rebooting', enteredMs: ms(60) }
    expect(decide(rebooting, 61)).toEqual({ kind: 'wait', untilMs: ms(60 + INSTALL_S) })
  })

  test('that finds the device busy with the installation is repeated later, however often', () => {
    const busy = { kind: 'activate', refusal: 'another installation runs', refusalIsBusy: true } as const
    const refused = { ...losing({}), command: command('rejected', busy) }
    const pauseOf = (lostAttempts: number) => {
      const decision = decide({ ...refused, lostAttempts })
      return decision.kind === 'pause' ? [decision.failedAttempts, (decision.retryAtMs - ms(61)) / 1000] : decision
    }
    expect([0, 1, 2, 5, 9].map(pauseOf)).toEqual([30, 60, 120, 960, 960].map((pauseS) => [0, pauseS]))
    // The pauses outlast the longest installation.
    expect(30 + 60 + 120 + 240 + 480 + 960).toBeGreaterThan(INSTALL_S)
    expect(decide({ ...refused, lostAttempts: 1, retryAtMs: ms(61) })).toEqual({ ...again, lostAttempts: 1 })
  })
})

test('any other lost activation is left alone for the time of an installation', () => {
  const lost = losing({ loss: 'gateway_lost' }, { ...able, repeatable: [] })
  expect(decide(lost)).toEqual(move('rebooting'))
  const rebooting: TargetNow = { ...lost, state: 'rebooting', enteredMs: ms(60) }
  expect(decide(rebooting, 61)).toEqual({ kind: 'wait', untilMs: ms(60 + INSTALL_S) })
})

const once = { failedAttempts: 0, lostAttempts: 0 }
const delivered = { bytesServed: 9, touchedMs: ms(1), delivered: true, fenced: false }

test('a download that ended with the service is cut off at once, unless the device may continue it', () => {
  const interrupted = (more: Partial<CommandNow>): TargetNow => ({
    ...losing({ kind: 'upgrade', loss: 'gateway_lost', ...more }, online),
    state: 'downloading',
    download: { ...delivered, delivered: false, touchedMs: ms(61) },
  })
  const wait = { kind: 'wait', untilMs: ms(61 + IDLE_S) }
  expect(decide(interrupted({}))).toEqual({ kind: 'fence', commandId: 'c', imageId: 'i' })
  expect(decide(interrupted({ loss: 'connection_lost' }))).toEqual(wait)
  // Agents request the rest of an image with a further request.
  expect(decide(interrupted({ kind: 'stage' }))).toEqual(wait)
})

describe('a lost command that its device, back again, no longer executes', () => {
  const idle = (more: Partial<TargetNow>, said: Partial<CommandNow> = {}): TargetNow => ({
    ...losing({ kind: 'upgrade', loss: 'gateway_lost', isIdle: true, ...said }, online),
    staged: false,
    ...more,
  })

  test.each(['dl_requested', 'downloading', 'rebooting'] as const)('is repeated at once in the state %s', (state) => {
    expect(decide(idle({ state, download: delivered }))).toEqual({ kind: 'command', order: 'upgrade', ...once })
  })

  test('is cut off first from a download that was not complete, without waiting for it to be idle', () => {
    const download = { ...delivered, delivered: false, touchedMs: ms(61) }
    const fence = { kind: 'fence', commandId: 'c', imageId: 'i' }
    expect(decide(idle({ state: 'downloading', download }))).toEqual(fence)
    expect(decide(idle({ state: 'downloading', download }, { isIdle: false, loss: 'connection_lost' }))).toMatchObject({
      kind: 'wait',
    })
    const fenced = { ...download, fenced: true }
    expect(decide(idle({ state: 'downloading', download: fenced }))).toEqual({
      kind: 'command',
      order: 'upgrade',
      ...once,
    })
  })

  test('downloads again even if the whole image was sent, because the device may not have got it', () => {
    const lost = idle({ state: 'downloading', download: delivered, device: staging }, { kind: 'stage' })
    expect(decide(lost)).toEqual({ kind: 'command', order: 'stage', ...once })
    const unknown = idle(
      { state: 'downloading', download: delivered, device: staging },
      { kind: 'stage', isIdle: false },
    )
    expect(decide(unknown)).toEqual(move('downloaded'))
  })

  test('is not repeated once the device has booted, nor while the upgrade is held or stopped', () => {
    const booted = { ...online, bootCount: 4, bootedAt: at(50), connectedMs: ms(50) }
    expect(decide(idle({ state: 'rebooting', device: booted, download: delivered }))).toEqual(
      move('failed', 'not_applied'),
    )
    expect(decide(idle({ state: 'downloading', device: booted, download: delivered }))).toEqual(move('rebooting'))
    const lost = idle({ state: 'rebooting', download: delivered })
    expect(decide(lost, 61, { held: true })).toEqual(move('planned'))
    expect(decide(lost, 61, { stopping: true })).toEqual(move('cancelled'))
    expect(decide({ ...lost, device: offline })).toMatchObject({ kind: 'wait' })
  })

  test('waits for its pause where the device lost its own connection', () => {
    expect(decide(idle({ state: 'rebooting', download: delivered }, { loss: 'connection_lost' }))).toMatchObject({
      kind: 'pause',
      reason: 'connection_lost',
      lostAttempts: 1,
      failedAttempts: 0,
    })
  })
})

describe('a failed download that the service had interrupted', () => {
  const failing = (more: Partial<CommandNow>, download = { ...delivered, delivered: false }): TargetNow => ({
    ...planned,
    state: 'downloading',
    attempt: 1,
    bootCount: 3,
    download,
    command: command('rejected', { refusal: 'Download failed', lost: 'gateway_lost', ...more }),
  })

  test('costs the device no attempt, and is repeated at once', () => {
    for (const target of [failing({}), failing({}, delivered)])
      expect(decide(target)).toEqual({ kind: 'command', order: 'upgrade', ...once })
  })

  test('is a failure where the content was refused, or the connection lost by the device, or of an activation', () => {
    const activating = { ...failing({ kind: 'activate' }), state: 'reboot_requested', device: able } as const
    for (const target of [failing({ lost: 'connection_lost' }), failing({ lost: null }), activating])
      expect(decide(target)).toMatchObject({ kind: 'pause', failedAttempts: 1 })
    expect(decide(failing({ refusalIsFinal: true }))).toMatchObject({ to: 'failed', reason: 'Download failed' })
  })
})

/** The loss of an activation: with the reply to which of its requests, the last of which reboots the device. */
interface Loss {
  readonly request: number
  /** False: the device doesn't receive that request. */
  readonly arrives: boolean
  readonly loss: 'gateway_lost' | 'connection_lost'
  /** Seconds until the device is connected again, and until it shuts down and has booted where that was requested. */
  readonly awayS: number
  readonly downS: number
  readonly bootS: number
}
const REQUESTS = 7
const anyLoss: fc.Arbitrary<Loss> = fc.record({
  request: fc.integer({ min: 1, max: REQUESTS }),
  arrives: fc.boolean(),
  loss: fc.constantFrom('gateway_lost', 'connection_lost'),
  awayS: fc.integer({ min: 1, max: 900 }),
  downS: fc.integer({ min: 1, max: 20 }),
  bootS: fc.integer({ min: 21, max: 1000 }),
})

/** Activates until the target has ended; the first attempts are lost as given, the next one is not. */
function activate(losses: readonly Loss[]) {
  const target: TargetNow = { ...planned, state: 'downloaded', attempt: 1, staged: true, device: able }
  let sent = 0
  let reboots = 0
  let backS = 0
  let downS = Infinity
  let bootS = Infinity
  for (let nowS = 0; nowS < 100_000 && !isTerminal(target.state); nowS += 10) {
    const booted = nowS >= bootS ? { firmware: '2.0', bootCount: 4, bootedAt: at(bootS) } : {}
    const sinceS = nowS >= bootS ? Math.max(backS, bootS) : backS
    const isUp = nowS >= backS && (nowS < downS || nowS >= bootS)
    const link = isUp ? { connectedMs: ms(sinceS) } : ({ link: 'absent', connectedMs: null } as const)
    Object.assign(target, { device: { ...able, ...booted, ...link } })
    const step = stepOf(target, decide(target, nowS))
    if (step === null) continue
    const { to: state, order, failedAttempts, lostAttempts, retryAtMs, staged } = step
    const enteredMs = state === target.state && order === null ? target.enteredMs : ms(nowS)
    Object.assign(target, { state, enteredMs, failedAttempts, lostAttempts, retryAtMs, staged })
    if (order === null) continue
    expect(order).toBe('activate')
    const lost = losses[sent]
    const isReboot = lost === undefined || lost.request === REQUESTS
    // A device that is shutting down boots once, however often it is requested.
    if (isReboot && lost?.arrives !== false && bootS === Infinity) {
      reboots += 1
      downS = nowS + (lost?.downS ?? 1)
      bootS = nowS + (lost?.bootS ?? 60)
    }
    backS = nowS + (lost?.awayS ?? 60)
    const outcome = lost === undefined ? {} : { loss: lost.loss, mayReboot: isReboot }
    const commandState = lost === undefined ? 'done' : 'unknown'
    const sentCommand = command(commandState, { kind: 'activate', sentAt: at(nowS), ...outcome })
    Object.assign(target, { attempt: target.attempt + 1, bootCount: 3, command: sentCommand })
    sent += 1
  }
  return { state: target.state, reboots }
}

test('however often activations are lost, the device is upgraded and rebooted once', () => {
  fc.assert(
    fc.property(fc.array(anyLoss, { maxLength: 6 }), (losses) => {
      expect(activate(losses)).toEqual({ state: 'upgraded', reboots: 1 })
    }),
    { numRuns: 500 },
  )
})
