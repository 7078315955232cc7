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
  planned,
} from '../../test/support/targets.ts'
import { stepOf } from './decide-step.ts'
import { defaultRolloutOptions, isTerminal } from './rollout.ts'
import type { CommandNow, DeviceNow, TargetNow } from './target.ts'

const able: DeviceNow = {
  ...online,
  type: 'switch',
  commands: ['restart', 'stage', 'activate'],
  repeatable: ['activate'],
}
const losing = (more: Partial<CommandNow>, device: DeviceNow = able): TargetNow => ({
  ...planned,
  state: 'reboot_requested',
  attempt: 2,
  bootCount: 3,
  staged: true,
  device,
  command: command('unknown', { kind: 'activate', ...more }),
})
const attempts = { failedAttempts: 0, lostAttempts: 0 }
const again = { kind: 'command', order: 'activate', ...attempts }
const INSTALL_S = defaultRolloutOptions.installMs / 1000

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

  test('is waited for like any other where it may have requested the reboot, for as long as a reboot takes', () => {
    for (const loss of ['gateway_lost', 'connection_lost', 'timeout'] as const) {
      const lost = losing({ loss, mayReboot: true })
      expect(decide(lost)).toEqual(move('rebooting'))
      const rebooting: TargetNow = { ...lost, state: 'rebooting', enteredMs: ms(60) }
      expect(decide(rebooting, 61)).toEqual({ kind: 'wait', untilMs: ms(60 + 20 * MINUTE) })
      expect(decide(rebooting, 60 + 20 * MINUTE)).toEqual({ ...again, lostAttempts: 1 })
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

/** The loss of an activation: with the reply to which of its requests, the last of which reboots the device. */
interface Loss {
  readonly request: number
  /** False: the device doesn't receive that request. */
  readonly arrives: boolean
  readonly loss: 'gateway_lost' | 'connection_lost'
  /** Seconds until the device is connected again, and until it boots where that was requested. */
  readonly awayS: number
  readonly bootS: number
}
const REQUESTS = 7
const anyLoss: fc.Arbitrary<Loss> = fc.record({
  request: fc.integer({ min: 1, max: REQUESTS }),
  arrives: fc.boolean(),
  loss: fc.constantFrom('gateway_lost', 'connection_lost'),
  awayS: fc.integer({ min: 1, max: 900 }),
  bootS: fc.integer({ min: 1, max: 1000 }),
})

/** Activates until the target has ended; the first attempts are lost as given, the next one is not. */
function activate(losses: readonly Loss[]) {
  const target: TargetNow = { ...planned, state: 'downloaded', attempt: 1, staged: true, device: able }
  let sent = 0
  let reboots = 0
  let backS = 0
  let bootS = Infinity
  for (let nowS = 0; nowS < 100_000 && !isTerminal(target.state); nowS += 10) {
    const booted = nowS >= bootS ? { firmware: '2.0', bootCount: 4, bootedAt: at(bootS) } : {}
    const sinceS = nowS >= bootS ? Math.max(backS, bootS) : backS
    const link = nowS >= backS ? { connectedMs: ms(sinceS) } : ({ link: 'absent', connectedMs: null } as const)
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
    if (isReboot && lost?.arrives !== false) {
      reboots += 1
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
