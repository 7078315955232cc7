import { describe, expect, test } from 'vitest'
import type { PhaseGate } from '../rollout.ts'
import { findStartWait, findWait, findWaitingGate, waitForCheck } from './decide-wait.ts'

const now = new Date('2026-03-01T12:00:00Z')
const NOW_S = now.getTime() / 1000
const plain: PhaseGate = { max_failures: null, max_failure_percentage: null, min_upgraded: 0 }
const none = { gatePassed: 0, approved: [], hurried: [] }

type State = Parameters<typeof findWait>[1]

/** What the gate after the first phase, of ten devices, waits for. */
function waitOf(gate: Partial<PhaseGate>, more: Partial<State> = {}) {
  return findWait(1, { ...none, sizes: [10, 10], gates: [{ ...plain, ...gate }, null], ...more }, now)
}

const approval = { wait_for: 'approval' } as const
const check = { wait_for: 'check' } as const
const time = { wait_for: 'time', minutes: 5 } as const
const later = { not_before_s: NOW_S + 1 }

describe('a gate with an approval', () => {
  test.each([
    [{}, {}, 'an approval', undefined],
    [{ prevent_self_approval: true }, {}, 'an approval by a person who has not created the upgrade', undefined],
    [{ approvals: 3 }, { approved: [1, 2] }, '2 of 3 approvals by different people', 2],
    [
      { approvals: 2, prevent_self_approval: true },
      {},
      '2 of 2 approvals by different people who have not created the upgrade',
      2,
    ],
  ] as const)('%j waits for it (%j): %s', (gate, more, what, missing) => {
    const reason = `phase 1 ended and waits for ${what}`
    expect(waitOf({ ...approval, ...gate }, more)).toEqual({ by: 'approval', reason, ...(missing && { missing }) })
  })

  test('waits for nothing else but its instant once it is given', () => {
    expect(waitOf(approval, { approved: [1] })).toBeNull()
    expect(waitOf({ ...approval, approvals: 2 }, { approved: [1, 1, 1] })).toBeNull()
    expect(waitOf({ ...approval, ...later }, { approved: [1] })).toMatchObject({ by: 'time' })
    expect(waitOf({ ...approval, ...later })).toMatchObject({ by: 'approval' })
  })

  test('does not count a resumption as one', () => {
    expect(waitOf(approval, { gatePassed: 1 })).toMatchObject({ by: 'approval' })
  })
})

test.each([
  ['a pause', { wait_for: 'pause' }, { by: 'gate', reason: 'phase 1 ended, after which a pause was requested' }],
  ['a check', check, { by: 'check', reason: 'phase 1 ended and waits for its check' }],
  ['a time', time, { by: 'time', reason: 'phase 1 ended and waits for 5 minutes', wait_ms: 300_000 }],
] as const)('%s that a person has passed is over', (_, gate, wait) => {
  expect(waitOf(gate)).toEqual(wait)
  expect(waitOf(gate, { gatePassed: 1 })).toBeNull()
})

describe('an instant', () => {
  const until = { by: 'time', reason: 'phase 1 ended and waits until 2026-03-01T12:00:01.000Z', ...later }
  test.each([
    ['alone', {}, {}, until],
    ['before a check', check, {}, until],
    ['before a check that was passed', check, { gatePassed: 1 }, until],
    [
      'with a time',
      time,
      {},
      {
        ...until,
        reason: 'phase 1 ended and waits for 5 minutes and until 2026-03-01T12:00:01.000Z',
        wait_ms: 300_000,
      },
    ],
    ['with a time that was passed', time, { gatePassed: 1 }, until],
    ['after a phase without devices', check, { sizes: [0, 10] }, until],
    ['that a person did not wait for', {}, { hurried: [1] }, null],
    ['that another phase did not wait for', {}, { hurried: [2] }, until],
  ] as const)('%s', (_, gate, more, wait) => {
    expect(waitOf({ ...gate, ...later }, more)).toEqual(wait)
  })

  test('is over when it comes', () => {
    expect(waitOf({ not_before_s: NOW_S })).toBeNull()
  })
})

test('a phase that was planned without devices waits for nothing, one that lost them does', () => {
  expect(waitOf(check, { sizes: [0, 10] })).toBeNull()
  const wait = { by: 'check', reason: 'phase 1 has no edge appliances and waits for its check' }
  expect(waitOf({ ...check, emptied: true }, { sizes: [0, 10], units: 'edge appliances' })).toEqual(wait)
})

test('the words are those of the downloads', () => {
  expect(waitOf(check, { of: 'downloads' })?.reason).toBe('download phase 1 ended and waits for its check')
})

test.each([
  [undefined, 'the phase ended and waits for its check'],
  ['gave no answer', 'the phase ended and waits for its check, which gave no answer'],
])('a check that failed by %s', (failure, text) => {
  expect(waitForCheck('the phase ended', failure)).toBe(text)
})

test('a phase beyond the gates has none', () => {
  expect(findWaitingGate(3, { sizes: [1, 1, 1], gates: [plain] })).toBeNull()
  expect(findWaitingGate(1, { sizes: [1], gates: null })).toBeNull()
})

test('the start waits for its approvals', () => {
  expect(findStartWait(null)).toBeNull()
  const reason = 'its start waits for 1 of 2 approvals by different people'
  expect(findStartWait({ gate: { approvals: 2 }, given: 1 })).toEqual({ by: 'approval', reason, missing: 1, phase: 0 })
  for (const given of [2, 3]) expect(findStartWait({ gate: { approvals: 2 }, given })).toBeNull()
})
