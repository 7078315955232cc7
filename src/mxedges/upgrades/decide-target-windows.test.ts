import { describe, expect, test } from 'vitest'
import { appliance, command, options, rules, step, target } from '../../../test/support/fleets/mxedge-targets.ts'
import { WINDOW_TOO_SHORT } from '../../rollout/targets/steps/decide-window.ts'
import { decideTarget } from './decide-target.ts'
import type { MxedgeTargetNow, TargetDecision } from './target.ts'

const NOW = rules.nowMs
const DAY_MS = 86_400_000
/** What an appliance needs for one step. */
const STEP_MS = options.reconnectMs.service
const two = [{ ...step, service: 'mxagent' }, step]
const away = { ...appliance, link: 'absent', connectedMs: null } as const
const capable = { ...appliance, canStage: true }

/** Decides in a daily window, of four steps, that closes after `leftMs`; a negative number: that is closed. */
function decide(leftMs: number, one: Partial<MxedgeTargetNow>): TargetDecision {
  const beginMs = (needMs: number): number | null => {
    if (needMs > 4 * STEP_MS) return null
    return needMs <= leftMs ? NOW : NOW + DAY_MS
  }
  return decideTarget({ ...target, ...one }, { ...rules, beginMs })
}

const wait = { kind: 'wait' }
const withdraw = { kind: 'withdraw', commandId: command.id }
const becomes = (state: string) => ({ kind: 'change', change: { state } })

describe('a target begins only if it can end within the window', () => {
  test.each([
    ['with one step', { steps: [step] }, STEP_MS],
    ['with two steps', { steps: two }, 2 * STEP_MS],
    [
      'with its distribution',
      { steps: [step, { distro: true, from: 'bookworm', to: 'trixie' } as const] },
      STEP_MS + options.reconnectMs.distro,
    ],
    ['whose first step is done', { steps: two, step: 1, staged: 1, attempt: 1 }, STEP_MS],
  ])('%s', (_title, one, needMs) => {
    expect(decide(needMs, one)).toMatchObject(becomes('commanded'))
    expect(decide(needMs - 1, one)).toEqual(wait)
  })

  test('and fails where no window is long enough', () => {
    const steps = [...two, ...two, step]
    expect(decide(STEP_MS, { steps })).toMatchObject({ change: { state: 'failed', reason: WINDOW_TOO_SHORT } })
  })

  test('and is not deferred for its absence before', () => {
    for (const leftMs of [-1, 0, STEP_MS - 1]) expect(decide(leftMs, { appliance: away })).toEqual(wait)
    expect(decide(STEP_MS, { appliance: away })).toMatchObject(becomes('deferred'))
    expect(decide(STEP_MS, { steps: two, step: 1, attempt: 1, appliance: away })).toMatchObject(becomes('deferred'))
    expect(decide(0, { steps: [...two, ...two, step], appliance: away })).toMatchObject(becomes('deferred'))
    expect(decide(-1, { state: 'deferred' })).toMatchObject(becomes('planned'))
  })
})

describe('a queued command', () => {
  const queued = { command: { ...command, state: 'queued' }, attempt: 1 } as const
  test('is withdrawn once it could not end within the window', () => {
    const commanded = { ...queued, state: 'commanded', steps: two } as const
    expect(decide(2 * STEP_MS, commanded)).toEqual(wait)
    expect(decide(2 * STEP_MS - 1, commanded)).toEqual(withdraw)
    expect(decide(STEP_MS, { ...commanded, steps: [...two, ...two, step] })).toEqual(withdraw)
  })

  test('of a later step is sent at any time: an upgrade that has begun is completed', () => {
    expect(decide(-1, { ...queued, state: 'commanded', steps: two, step: 1 })).toEqual(wait)
  })

  test.each([0, 1])('of a download only has to be sent within the window (step %i)', (at) => {
    const downloading = {
      ...queued,
      state: 'downloading',
      steps: two,
      step: at,
      staged: at,
      appliance: capable,
    } as const
    expect(decide(0, downloading)).toEqual(wait)
    expect(decide(-1, downloading)).toEqual(withdraw)
  })
})

test('a download is followed by another one only within the window', () => {
  const done = { state: 'downloading', attempt: 1, command: { ...command, state: 'done' } } as const
  const first = { ...done, steps: two, appliance: capable }
  expect(decide(0, first)).toMatchObject(becomes('downloading'))
  expect(decide(-1, first)).toMatchObject(becomes('planned'))
})
