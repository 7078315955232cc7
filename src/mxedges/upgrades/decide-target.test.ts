import { describe, expect, test } from 'vitest'
import { LEFT_SITE, REMOVED, REPLACED } from '../../rollout/rollout.ts'
import { decideTarget } from './decide-target.ts'
import type { ApplianceNow, MxedgeTargetNow, StepCommand, TargetDecision } from './target.ts'
import { appliance, command, options, rules, step, target } from '../../../test/support/fleets/mxedge-targets.ts'

const NOW = rules.nowMs
const SECOND = 1000
const MINUTE = 60 * SECOND

const decide = (one: Partial<MxedgeTargetNow>, by: Partial<typeof rules> = {}): TargetDecision =>
  decideTarget({ ...target, ...one }, { ...rules, ...by })
const changeOf = (decision: TargetDecision) => (decision.kind === 'change' ? decision.change : null)
const running = (version: string | null, state: 'running' | 'failed' = 'running'): ApplianceNow => ({
  ...appliance,
  services: [{ name: 'tunterm', version, state }],
})
const away = { ...appliance, link: 'absent', connectedMs: null } as const
const ended = (state: StepCommand['state'], more: Partial<StepCommand> = {}) => ({ ...command, state, ...more })

describe('a planned target', () => {
  test('is commanded, and records what the service runs at that moment', () => {
    const change = changeOf(decide({ appliance: running('1.5.0') }))
    expect(change).toMatchObject({
      state: 'commanded',
      step: 0,
      order: { service: 'tunterm', to: '2.0.0', from: '1.5.0' },
    })
    expect(change?.steps[0]).toMatchObject({ from: '1.5.0' })
  })

  test.each([
    ['deferred when its appliance is absent', away, 'deferred', null],
    ['cancelled when its appliance was deleted', null, 'cancelled', REMOVED],
    ['cancelled when its appliance was replaced', { ...appliance, isReplaced: true }, 'cancelled', REPLACED],
    ['cancelled when its appliance left the site', { ...appliance, hasLeft: true }, 'cancelled', LEFT_SITE],
  ])('is %s', (...[, its, state, reason]) => {
    expect(changeOf(decide({ appliance: its }))).toMatchObject({ state, reason, order: null })
  })

  test('is upgraded, not skipped, when an earlier attempt has brought it to the version', () => {
    expect(changeOf(decide({ appliance: running('2.0.0'), attempt: 1 }))).toMatchObject({
      state: 'upgraded',
      reason: null,
      order: null,
    })
  })

  test('is commanded at the end of its pause, which is over then', () => {
    expect(changeOf(decide({ retryAtMs: NOW }))).toMatchObject({ state: 'commanded', retryAtMs: null })
  })

  test.each([
    ['that version already', '2.0.0', 'already on the requested versions'],
    ['a higher one by now', '3.0.0', 'tunterm 2.0.0 is lower than its 3.0.0, and allow_downgrades.tunterm is not set'],
  ])('is skipped when it runs %s, and says so', (_title, version, reason) => {
    expect(changeOf(decide({ appliance: running(version) }))).toMatchObject({ state: 'skipped', order: null, reason })
  })

  test('goes down where the request allows it', () => {
    const steps = [{ ...step, allow_downgrade: true }]
    expect(changeOf(decide({ steps, appliance: running('3.0.0') }))).toMatchObject({ state: 'commanded' })
  })

  test.each([
    ['the upgrade is paused', {}, { held: true }],
    ['its phase or wave is not open', {}, { isOpen: false }],
    ['another member of its cluster is in flight', {}, { isClusterFree: false }],
    ['its appliance is expected back', { appliance: { ...away, link: 'expected' } as const }, {}],
    ['its pause after a failed attempt lasts', { retryAtMs: NOW + 1 }, {}],
  ])('waits while %s', (_title, one, by) => {
    expect(decide(one, by)).toMatchObject({ kind: 'wait' })
  })

  test('passes steps that are reached, and commands the first other one', () => {
    const steps = [{ ...step, service: 'mxagent', to: '1.0.0' }, step]
    const change = changeOf(
      decide({
        steps,
        appliance: {
          ...appliance,
          services: [
            { name: 'mxagent', version: '1.0.0', state: 'running' },
            { name: 'tunterm', version: '1.0.0', state: 'running' },
          ],
        },
      }),
    )
    expect(change).toMatchObject({ state: 'commanded', step: 1, order: { service: 'tunterm' } })
  })

  test('has attempts of its own at each step, also at one that follows because the one before is reached by now', () => {
    const steps = [step, { ...step, service: 'mxagent' }]
    const paused = { steps, attempt: 2, failedAttempts: 2, lostAttempts: 3 }
    const counts = (one: Partial<MxedgeTargetNow>) => changeOf(decide({ ...paused, ...one }))
    expect(counts({})).toMatchObject({ step: 0, failedAttempts: 2, lostAttempts: 3 })
    expect(counts({ appliance: running('2.0.0') })).toMatchObject({ step: 1, failedAttempts: 0, lostAttempts: 0 })
  })

  test('is cancelled when the upgrade stops', () => {
    expect(changeOf(decide({}, { stopping: true }))).toMatchObject({ state: 'cancelled', reason: null })
  })
})

describe('a deferred target', () => {
  const deferred = { state: 'deferred', appliance: away } as const
  test('waits for its appliance, until the last phase has been open for long', () => {
    expect(decide(deferred)).toEqual({ kind: 'wait' })
    expect(decide(deferred, { offlineDeadlineMs: NOW + 1 })).toEqual({ kind: 'wait' })
    expect(changeOf(decide(deferred, { offlineDeadlineMs: NOW }))).toMatchObject({ state: 'failed', reason: 'offline' })
  })

  test('is commanded when its appliance is back', () => {
    expect(changeOf(decide({ state: 'deferred' }))).toMatchObject({ state: 'commanded' })
  })

  test('is planned again when its appliance is back while the upgrade is paused', () => {
    expect(changeOf(decide({ state: 'deferred' }, { held: true }))).toMatchObject({ state: 'planned', order: null })
    expect(decide(deferred, { held: true })).toEqual({ kind: 'wait' })
  })
})

describe('a queued command', () => {
  const commanded = { state: 'commanded', command: ended('queued'), attempt: 1 } as const
  test.each([
    ['the upgrade stops', {}, { stopping: true }],
    ['the upgrade is paused', {}, { held: true }],
    ['the appliance is absent', { appliance: away }, {}],
    ['it could not be sent for long', { enteredMs: NOW - options.commandExpiryMs }, {}],
  ])('is withdrawn when %s', (_title, one, by) => {
    expect(decide({ ...commanded, ...one }, by)).toEqual({ kind: 'withdraw', commandId: command.id })
  })

  test('else waits to be sent, and then for its answer', () => {
    expect(decide(commanded)).toEqual({ kind: 'wait' })
    expect(decide({ ...commanded, command: ended('sent') }, { stopping: true })).toEqual({ kind: 'wait' })
  })

  test('once withdrawn returns the target, at no cost if the appliance is absent', () => {
    const withdrawn = { ...commanded, command: ended('cancelled') }
    expect(changeOf(decide({ ...withdrawn, appliance: away }))).toMatchObject({ state: 'deferred', lostAttempts: 0 })
    expect(changeOf(decide(withdrawn, { held: true }))).toMatchObject({ state: 'planned', lostAttempts: 0 })
    for (const its of [appliance, away])
      expect(changeOf(decide({ ...withdrawn, appliance: its }, { stopping: true }))).toMatchObject({
        state: 'cancelled',
      })
    expect(changeOf(decide(withdrawn))).toMatchObject({ state: 'planned', lostAttempts: 1, failedAttempts: 0 })
  })
})

describe('an answer', () => {
  const commanded = { state: 'commanded', attempt: 1 } as const
  test('of success leads to the check of the report', () => {
    expect(changeOf(decide({ ...commanded, command: ended('done') }))).toMatchObject({ state: 'verifying' })
  })

  test('of failure leads to another attempt after growing pauses, three in all', () => {
    const rejected = { ...commanded, command: ended('rejected', { refusal: 'no space' }) }
    expect(changeOf(decide(rejected))).toMatchObject({ state: 'planned', failedAttempts: 1, retryAtMs: NOW + 30_000 })
    expect(changeOf(decide({ ...rejected, failedAttempts: 1 }))).toMatchObject({ retryAtMs: NOW + 60_000 })
    expect(changeOf(decide({ ...rejected, failedAttempts: 2 }))).toMatchObject({ state: 'failed', reason: 'no space' })
    expect(changeOf(decide(rejected, { stopping: true }))).toMatchObject({ state: 'cancelled', failedAttempts: 1 })
  })

  test('of failure without a reason has one', () => {
    expect(changeOf(decide({ ...commanded, command: ended('rejected') }))).toMatchObject({ reason: 'rejected' })
  })

  test('that is final leads to no other attempt', () => {
    const refused = { ...commanded, command: ended('rejected', { refusal: 'bad hash', refusalIsFinal: true }) }
    expect(changeOf(decide(refused))).toMatchObject({ state: 'failed', reason: 'bad hash' })
  })

  test('that was lost leads to nothing but a look at the appliance', () => {
    expect(changeOf(decide({ ...commanded, command: ended('unknown') }))).toMatchObject({
      state: 'unconfirmed',
      order: null,
    })
    expect(changeOf(decide({ ...commanded, command: null }))).toMatchObject({ state: 'unconfirmed', order: null })
  })
})

describe('an unconfirmed target', () => {
  const lost = { state: 'unconfirmed', attempt: 1, command: ended('unknown') } as const
  test('is settled by the report of the appliance', () => {
    expect(changeOf(decide({ ...lost, appliance: running('2.0.0') }))).toMatchObject({ state: 'verifying' })
  })

  test('is settled by an answer on a later connection', () => {
    expect(changeOf(decide({ ...lost, command: ended('done') }))).toMatchObject({ state: 'verifying' })
    expect(changeOf(decide({ ...lost, command: ended('rejected') }))).toMatchObject({ failedAttempts: 1 })
  })

  test('gives a connected appliance time to answer before the command is repeated', () => {
    const connectedMs = NOW + 10
    expect(decide({ ...lost, appliance: { ...appliance, connectedMs } }, { nowMs: NOW + 20 })).toEqual({ kind: 'wait' })
    const nowMs = NOW + options.answerMs.service
    expect(decide(lost, { nowMs: nowMs - 1 })).toEqual({ kind: 'wait' })
    expect(changeOf(decide(lost, { nowMs }))).toMatchObject({ state: 'planned', lostAttempts: 1 })
  })

  test('gives the upgrade of a distribution the time that it takes', () => {
    const steps = [{ distro: true, from: 'bookworm', to: 'next' }] as const
    const nowMs = NOW + options.answerMs.distro
    expect(decide({ ...lost, steps }, { nowMs: nowMs - 1 })).toEqual({ kind: 'wait' })
    expect(changeOf(decide({ ...lost, steps }, { nowMs }))).toMatchObject({ lostAttempts: 1 })
  })

  test('is repeated at once where the agent, back again, does not know the command', () => {
    expect(changeOf(decide({ ...lost, command: ended('unknown', { isForgotten: true }) }))).toMatchObject({
      state: 'planned',
      lostAttempts: 1,
      retryAtMs: NOW + options.retryMs,
    })
  })

  test('is repeated after growing pauses, 30 times in all', () => {
    const forgotten = { ...lost, command: ended('unknown', { isForgotten: true }) }
    const pauses = [1, 2, 4, 8, 16, 32, 32, 32].map((factor) => NOW + factor * options.retryMs)
    pauses.forEach((retryAtMs, lostAttempts) =>
      expect(changeOf(decide({ ...forgotten, lostAttempts }))).toMatchObject({ state: 'planned', retryAtMs }),
    )
    expect(changeOf(decide({ ...forgotten, lostAttempts: 28 }))).toMatchObject({ state: 'planned' })
    const failed = { state: 'failed', reason: 'unresponsive', retryAtMs: null }
    expect(changeOf(decide({ ...forgotten, lostAttempts: 29 }))).toMatchObject(failed)
  })

  test('is repeated without a pause, however often, where the gateway ended and the agent does not know it', () => {
    const command = ended('unknown', { isForgotten: true, isGatewayLost: true })
    for (const lostAttempts of [0, 1, 29])
      expect(changeOf(decide({ ...lost, lostAttempts, command }))).toMatchObject({
        state: 'planned',
        lostAttempts,
        retryAtMs: NOW,
      })
    const unknown = { ...lost, command: ended('unknown', { isGatewayLost: true }) }
    const nowMs = NOW + options.answerMs.service
    expect(changeOf(decide(unknown, { nowMs }))).toMatchObject({ lostAttempts: 1, retryAtMs: nowMs + options.retryMs })
  })

  test('fails when its appliance stays away, but not while the service has just started', () => {
    const nowMs = NOW + options.reconnectMs.service
    expect(decide({ ...lost, appliance: away }, { nowMs: nowMs - 1 })).toEqual({ kind: 'wait' })
    expect(decide({ ...lost, appliance: away }, { nowMs, graceUntilMs: nowMs + 1 })).toMatchObject({ kind: 'wait' })
    expect(changeOf(decide({ ...lost, appliance: away }, { nowMs }))).toMatchObject({ reason: 'no_reconnect' })
  })

  test('ends even if its appliance connects again and again', () => {
    const nowMs = NOW + options.reconnectMs.service + options.answerMs.service
    const flapping = { ...lost, appliance: { ...appliance, connectedMs: nowMs - 1 } }
    expect(decide(flapping, { nowMs: nowMs - 1 })).toEqual({ kind: 'wait' })
    expect(changeOf(decide(flapping, { nowMs }))).toMatchObject({ lostAttempts: 1 })
  })
})

describe('a target that is verified', () => {
  const verifying = { state: 'verifying', attempt: 1, command: ended('done'), appliance: running('2.0.0') } as const
  const soaked = { nowMs: NOW + options.soakMs }
  test('is upgraded once the version has lasted', () => {
    expect(decide(verifying)).toEqual({ kind: 'wait' })
    expect(changeOf(decide(verifying, soaked))).toMatchObject({ state: 'upgraded' })
    const back = { ...running('2.0.0'), connectedMs: NOW + 1 }
    expect(decide({ ...verifying, appliance: back }, soaked)).toMatchObject({ kind: 'wait' })
  })

  test.each([
    ['keeps its old version', running('1.0.0'), 'not_applied'],
    ['has a service that does not run', running('2.0.0', 'failed'), 'service_failed'],
  ])('fails when its appliance %s', (_title, one, reason) => {
    const nowMs = NOW + options.soakMs + options.verifyTimeoutMs
    expect(decide({ ...verifying, appliance: one }, { nowMs: nowMs - 1 })).toMatchObject({ kind: 'wait' })
    expect(changeOf(decide({ ...verifying, appliance: one }, { nowMs }))).toMatchObject({ state: 'failed', reason })
  })

  test('fails when its appliance never stays connected', () => {
    const nowMs = NOW + options.reconnectMs.service + options.soakMs + options.verifyTimeoutMs
    const flapping = { ...verifying, appliance: { ...running('2.0.0'), connectedMs: nowMs - MINUTE } }
    expect(decide(flapping, { nowMs: nowMs - 1 })).toEqual({ kind: 'wait' })
    expect(changeOf(decide(flapping, { nowMs }))).toMatchObject({ state: 'failed', reason: 'unstable' })
  })

  test('does not go on while its service does not run', () => {
    const steps = [step, { ...step, service: 'mxagent', to: '9.0.0' }]
    const broken = { ...verifying, steps, appliance: running('2.0.0', 'failed') }
    expect(decide(broken, soaked)).toEqual({ kind: 'wait' })
  })

  test('does not return to a step that somebody has undone', () => {
    const steps = ['mxagent', 'tunterm', 'radsecproxy'].map((service) => Object.assign({}, step, { service }))
    const undone = [{ name: 'mxagent', version: '1.0.0', state: 'running' as const }]
    const second = {
      ...verifying,
      step: 1,
      appliance: { ...appliance, services: [...undone, ...running('2.0.0').services] },
    }
    expect(changeOf(decide({ ...second, steps }))).toMatchObject({ state: 'commanded', step: 2 })
    expect(decide({ ...second, steps: steps.slice(0, 2) })).toEqual({ kind: 'wait' })
    expect(changeOf(decide({ ...second, steps: steps.slice(0, 2) }, soaked))).toMatchObject({ state: 'upgraded' })
  })

  test('goes on with its next step, with attempts of its own', () => {
    const steps = [step, { ...step, service: 'mxagent', to: '9.0.0' }]
    const more = { ...verifying, steps, failedAttempts: 2, lostAttempts: 3 }
    expect(changeOf(decide(more))).toMatchObject({
      state: 'commanded',
      step: 1,
      order: { service: 'mxagent' },
      failedAttempts: 0,
      lostAttempts: 0,
    })
    expect(changeOf(decide(more, { held: true }))).toMatchObject({ state: 'planned', step: 1, order: null })
    expect(changeOf(decide(more, { stopping: true }))).toMatchObject({
      state: 'cancelled',
      reason: 'after 1 of 2 steps',
    })
  })
})

describe('the distribution', () => {
  const distro = { distro: true, from: 'bookworm', to: 'next' } as const
  const verifying = { state: 'verifying', attempt: 1, command: ended('done'), steps: [distro] } as const
  const nowMs = NOW + options.soakMs
  test('`next` is any other than before', () => {
    expect(decide({ ...verifying, appliance }, { nowMs })).toMatchObject({ kind: 'wait' })
    const next = { ...appliance, distro: 'trixie' }
    expect(changeOf(decide({ ...verifying, appliance: next }, { nowMs }))).toMatchObject({ state: 'upgraded' })
  })

  test('with a codename is only that one, and is skipped where it runs', () => {
    const trixie = { ...distro, to: 'trixie' }
    expect(changeOf(decide({ steps: [trixie] }))).toMatchObject({ order: { to: 'trixie', from: 'bookworm' } })
    const done = { ...appliance, distro: 'trixie' }
    expect(changeOf(decide({ steps: [trixie], appliance: done }))).toMatchObject({ state: 'skipped' })
  })

  test('may take longer to come back than a service', () => {
    const absent = { ...verifying, appliance: away }
    expect(decide(absent, { nowMs: NOW + options.reconnectMs.service })).toMatchObject({ kind: 'wait' })
    expect(changeOf(decide(absent, { nowMs: NOW + options.reconnectMs.distro }))).toMatchObject({ state: 'failed' })
  })
})
