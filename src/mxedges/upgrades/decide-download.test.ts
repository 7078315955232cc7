import { describe, expect, test } from 'vitest'
import { appliance, command, options, rules, step, target } from '../../../test/support/fleets/mxedge-targets.ts'
import { decideTarget } from './decide-target.ts'
import type { MxedgeTargetNow, StepCommand, TargetDecision, TargetRules } from './target.ts'

const NOW = rules.nowMs
const capable = { ...appliance, canStage: true }
const away = { ...capable, link: 'absent', connectedMs: null } as const
const two = [{ ...step, service: 'mxagent' }, step]
const both = {
  ...capable,
  services: ['mxagent', 'tunterm'].map((name) => ({ name, version: '1.0.0', state: 'running' as const })),
}

function decide(one: Partial<MxedgeTargetNow>, by: Partial<TargetRules> = {}): TargetDecision {
  return decideTarget({ ...target, appliance: both, steps: two, ...one }, { ...rules, ...by })
}
const changeOf = (decision: TargetDecision) => (decision.kind === 'change' ? decision.change : null)
const ended = (state: StepCommand['state'], more: Partial<StepCommand> = {}) => ({ ...command, state, ...more })

describe('a planned target whose agent can download first', () => {
  test('downloads, also before its wave begins and while a member of its cluster is in flight', () => {
    for (const by of [{}, { isOpen: false }, { isClusterFree: false }])
      expect(changeOf(decide({}, by))).toMatchObject({
        state: 'downloading',
        step: 0,
        staged: 0,
        order: { service: 'mxagent' },
      })
  })

  test('waits for its phase', () => {
    expect(decide({}, { isPhaseOpen: false, isOpen: false })).toEqual({ kind: 'wait' })
  })

  test('installs at once where the agent can not', () => {
    const change = changeOf(decide({ appliance: { ...both, canStage: false } }))
    expect(change).toMatchObject({ state: 'commanded', order: { service: 'mxagent' } })
  })

  test('downloads what its distribution needs where the agent can do that too, and else upgrades in one step', () => {
    const steps = [{ distro: true, from: 'bookworm', to: 'trixie' }] as const
    const order = { distro: true, to: 'trixie' }
    expect(changeOf(decide({ steps }))).toMatchObject({ state: 'commanded', order })
    const able = { ...both, canStage: false, canStageDistro: true }
    const downloading = decide({ steps, appliance: able }, { isOpen: false })
    expect(changeOf(downloading)).toMatchObject({ state: 'downloading', staged: 0, order })
    const done = { steps, appliance: able, state: 'downloading', attempt: 1, command: ended('done') } as const
    expect(changeOf(decide(done))).toMatchObject({ state: 'downloaded', staged: 1, order: null })
    const ready = { ...done, state: 'downloaded', staged: 1 } as const
    expect(changeOf(decide(ready))).toMatchObject({ state: 'commanded', order })
    expect(decide(ready, { isOpen: false })).toEqual({ kind: 'wait' })
  })

  test('has the time that the download of a distribution takes to answer after its connection broke', () => {
    const steps = [{ distro: true, from: 'bookworm', to: 'trixie' }] as const
    const appliance = { ...both, canStageDistro: true }
    const lost = { steps, appliance, state: 'downloading', attempt: 1, command: ended('unknown') } as const
    const late = NOW + options.answerMs.distroDownload
    expect(decide(lost, { nowMs: late - 1 })).toEqual({ kind: 'wait' })
    expect(changeOf(decide(lost, { nowMs: late }))).toMatchObject({ state: 'planned', lostAttempts: 1 })
  })
})

describe('a target that downloads', () => {
  const downloading = { state: 'downloading', attempt: 1 } as const
  test('continues with the package of the next step, and is downloaded after the last', () => {
    const first = { ...downloading, command: ended('done') }
    expect(changeOf(decide(first))).toMatchObject({ state: 'downloading', staged: 1, order: { service: 'tunterm' } })
    expect(changeOf(decide({ ...first, staged: 1 }))).toMatchObject({ state: 'downloaded', staged: 2, order: null })
    expect(changeOf(decide(first, { held: true }))).toMatchObject({ state: 'planned', staged: 1, order: null })
  })

  test.each([
    ['its command is withdrawn', command.id, { command: ended('queued') }, { stopping: true }],
    ['its command is withdrawn when it is late', command.id, { command: ended('queued') }, { nowMs: NOW + 600_000 }],
  ])('%s', (_title, commandId, one, by) => {
    expect(decide({ ...downloading, ...one }, by)).toEqual({ kind: 'withdraw', commandId })
  })

  test.each(['sent', 'done', 'unknown', 'cancelled'] as const)(
    'is cancelled when the upgrade stops, though its command is %s: nothing on the appliance has changed',
    (state) => {
      const change = changeOf(decide({ ...downloading, command: ended(state) }, { stopping: true }))
      expect(change).toMatchObject({ state: 'cancelled', reason: null, order: null })
    },
  )

  test('is repeated where the agent does not answer, or is back without the command', () => {
    const lost = { ...downloading, staged: 1, command: ended('unknown') }
    const nowMs = NOW + options.answerMs.download
    expect(decide(lost, { nowMs: nowMs - 1 })).toEqual({ kind: 'wait' })
    expect(decide({ ...lost, appliance: { ...away, link: 'expected' } }, { nowMs })).toEqual({ kind: 'wait' })
    for (const [one, by] of [
      [lost, { nowMs }],
      [{ ...lost, command: ended('unknown', { isForgotten: true }) }, {}],
    ] as const)
      expect(changeOf(decide(one, by))).toMatchObject({ state: 'planned', staged: 1, lostAttempts: 1 })
    expect(changeOf(decide({ ...lost, appliance: away }))).toMatchObject({ state: 'deferred', lostAttempts: 1 })
  })

  test('fails after the last attempt that the connected agent does not answer', () => {
    const silent = { ...downloading, command: ended('unknown', { isTimedOut: true }) }
    const by = { nowMs: NOW + options.answerMs.download }
    expect(changeOf(decide(silent, by))).toMatchObject({ state: 'planned', failedAttempts: 1, lostAttempts: 0 })
    const failed = { state: 'failed', reason: 'unresponsive' }
    expect(changeOf(decide({ ...silent, failedAttempts: options.maxAttempts - 1 }, by))).toMatchObject(failed)
  })

  test('is repeated at once and at no cost where the service had interrupted it, unless the refusal is final', () => {
    const refused = { refusal: 'The server cannot be reached', isGatewayLost: true }
    expect(changeOf(decide({ ...downloading, command: ended('rejected', refused) }))).toMatchObject({
      ...{ state: 'planned', failedAttempts: 0, lostAttempts: 0, retryAtMs: NOW, reason: refused.refusal },
    })
    const installing = { state: 'commanded', attempt: 1, command: ended('rejected', refused) } as const
    expect(changeOf(decide(installing))).toMatchObject({ failedAttempts: 1, retryAtMs: NOW + options.retryMs })
    const final = ended('rejected', { ...refused, refusalIsFinal: true })
    expect(changeOf(decide({ ...downloading, command: final }))).toMatchObject({ state: 'failed' })
  })

  test('fails after the last attempt that the appliance refuses, and at once where that is final', () => {
    const refused = { ...downloading, command: ended('rejected', { refusal: 'The disk is full' }) }
    expect(changeOf(decide(refused))).toMatchObject({ state: 'planned', failedAttempts: 1 })
    const failed = { state: 'failed', reason: 'The disk is full' }
    expect(changeOf(decide({ ...refused, failedAttempts: options.maxAttempts - 1 }))).toMatchObject(failed)
    const final = ended('rejected', { refusal: 'The disk is full', refusalIsFinal: true })
    expect(changeOf(decide({ ...refused, command: final }))).toMatchObject(failed)
  })
})

describe('a downloaded target', () => {
  const downloaded = { state: 'downloaded', attempt: 2, staged: 2 } as const
  test.each([
    ['its wave has not begun', { isOpen: false }],
    ['another member of its cluster is in flight', { isClusterFree: false }],
    ['the upgrade is paused', { held: true }],
  ])('waits while %s', (_title, by) => {
    expect(decide(downloaded, by)).toEqual({ kind: 'wait' })
  })

  test('is installed in its turn, one step after the other', () => {
    expect(changeOf(decide(downloaded))).toMatchObject({ state: 'commanded', step: 0, order: { service: 'mxagent' } })
    const services = [{ name: 'mxagent', version: '2.0.0', state: 'running' as const }, ...appliance.services]
    const verifying = { ...downloaded, state: 'verifying', appliance: { ...both, services } } as const
    expect(changeOf(decide(verifying, { isOpen: false }))).toMatchObject({
      state: 'commanded',
      step: 1,
      order: { service: 'tunterm' },
    })
    expect(changeOf(decide(verifying, { held: true }))).toMatchObject({ state: 'downloaded', step: 1, order: null })
  })

  test.each([
    ['is cancelled when the upgrade stops', {}, { stopping: true }, 'cancelled'],
    ['delays nobody when its appliance is absent', { appliance: away }, {}, 'deferred'],
    ['counts again when it is back', { state: 'deferred' }, { isOpen: false }, 'downloaded'],
  ] as const)('%s', (_title, one, by, state) => {
    expect(changeOf(decide({ ...downloaded, ...one }, by))).toMatchObject({ state, staged: 2, order: null })
  })

  test('downloads again what it could not install', () => {
    const failed = { ...downloaded, state: 'commanded', step: 1, command: ended('rejected') } as const
    expect(changeOf(decide(failed))).toMatchObject({ state: 'planned', staged: 1, failedAttempts: 1 })
  })
})
