import { expect, it } from 'vitest'
import { checkGate, checkWait, gatesBetween, holdTextOf } from './gate-checks.ts'

const gate = { max_failure_percentage: 5, min_upgraded: 1, wait_for: 'approval', passed: false } as const
const phase = { phase: 1, total: 10, upgraded: 9, failed: 1, under_way: 0, cancelled: 0, gate }

it('compares each rule of a gate with its present value', () => {
  expect(checkGate(phase)).toEqual([
    { rule: 'at most 5 % failed', value: '1 of 10', isMet: false, isFailed: true },
    { rule: 'at least 1 upgraded', value: '9', isMet: true },
    { rule: 'an approval', value: 'not given yet', isMet: false },
  ])
  const [, , another] = checkGate({ ...phase, gate: { ...gate, prevent_self_approval: true } })
  expect(another).toMatchObject({ rule: 'an approval by a person other than the creator', isMet: false })
  expect(checkGate({ ...phase, gate: { max_failures: 1, min_success_percentage: 90, passed: true } })).toEqual([
    { rule: 'at most 1 failed', value: '1', isMet: true },
    { rule: 'at least 90 % upgraded', value: '9 of 10', isMet: true },
  ])
  const large = { ...phase, total: 2000, upgraded: 700, failed: 1200 }
  expect(checkGate(large).map(({ value }) => value)).toEqual(['1,200 of 2,000', '700', 'not given yet'])
})

it('names the time for which the next phase waits', () => {
  const timed = { ...phase, total: 0, gate: { wait_for: 'time', minutes: 480, passed: false } } as const
  expect(checkGate(timed)).toEqual([{ rule: '480 minutes pass', value: 'not yet', isMet: false }])
  expect(checkGate({ ...timed, gate: { ...timed.gate, minutes: 1 } })).toMatchObject([{ rule: '1 minute passes' }])
  expect(holdTextOf({ by: 'time' }, timed)).toBe('waits for the time to pass')
})

it('names the instant before which the next phase does not begin', () => {
  const rulesOf = (gate: Exclude<Parameters<typeof checkGate>[0]['gate'], undefined>, zone?: string) =>
    checkGate({ ...phase, total: 0, gate: { not_before: 1_790_000_000, passed: false, ...gate } }, zone).map(
      ({ rule }) => rule,
    )
  const instant = expect.stringMatching(/^not before 21 Sept/)
  expect(rulesOf({ wait_for: 'time' })).toEqual([instant])
  expect(rulesOf({ wait_for: 'time', minutes: 5 })).toEqual(['5 minutes pass', instant])
  expect(rulesOf({ wait_for: 'approval' })).toEqual(['an approval', instant])
  expect(rulesOf({ wait_for: 'time' }, 'Asia/Tokyo')).toEqual([expect.stringMatching(/ GMT\+9$/)])
})

it('says at a gate with an instant which of its two conditions is met', () => {
  const timed = { ...gate, not_before: 4_000_000_000 }
  const opened_by = { by: 'approval', name: 'Ada', timestamp: 1 } as const
  const metOf = (more: object, nowMs?: number) =>
    checkWait({ ...timed, ...more }, undefined, nowMs).map(({ value, isMet }) => [value, isMet])
  expect(metOf({})).toEqual([
    ['not given yet', false],
    ['not yet', false],
  ])
  expect(metOf({ opened_by })).toEqual([
    ['1 given, by Ada', true],
    ['not yet', false],
  ])
  expect(metOf({}, 4_000_000_000_000)).toEqual([
    ['not given yet', false],
    ['done', true],
  ])
  const checked = { ...phase, failed: 0, gate: { ...gate, wait_for: 'check', not_before: 1_000_000_000 } } as const
  expect(holdTextOf({ by: 'gate' }, checked)).toBe('refused by its check')
})

it('names the people who have approved, where several must', () => {
  const given = [{ by: 'approval' as const, name: 'Ada', timestamp: 1 }]
  const check = (more: object) => checkGate({ ...phase, total: 0, gate: { ...gate, approvals: 2, ...more } })
  expect(check({ approved_by: [] })).toMatchObject([
    { rule: '2 approvals by different people', value: 'not given yet' },
  ])
  expect(check({ approved_by: given, prevent_self_approval: true })).toMatchObject([
    { rule: '2 approvals by people other than the creator', value: '1 given, by Ada', isMet: false },
  ])
})

it('knows when a phase can meet a rule only after a retry', () => {
  const behind = { ...phase, upgraded: 0, failed: 0, gate: { max_failures: 0, min_upgraded: 1, passed: false } }
  const failedOf = (more: object) => checkGate({ ...behind, ...more }).map(({ isFailed }) => isFailed ?? false)
  expect(failedOf({})).toEqual([false, false])
  expect(failedOf({ failed: 1 })).toEqual([true, false])
  expect(failedOf({ failed: 1, ended_at: 9 })).toEqual([true, true])
})

it('compares no numbers of a phase that other upgrades have emptied', () => {
  const empty = { ...phase, total: 0, upgraded: 0, failed: 0 }
  expect(checkGate(empty)).toEqual([{ rule: 'an approval', value: 'not given yet', isMet: false }])
  expect(checkGate({ ...empty, gate: { min_upgraded: 1, passed: true } })).toEqual([])
})

it('knows that the gate of the last phase leads nowhere', () => {
  const phases = [phase, { ...phase, phase: 2 }, { ...phase, phase: 3 }]
  expect(gatesBetween({ phases }).map(({ phase: number }) => number)).toEqual([1, 2])
})

it('distinguishes a check that refuses from results that close a gate', () => {
  const checked = { ...phase, failed: 0, gate: { ...gate, wait_for: 'check' } } as const
  expect(holdTextOf({ by: 'gate' }, checked)).toBe('refused by its check')
  expect(holdTextOf({ by: 'gate' }, { ...checked, failed: 1 })).toBe('closed by the results')
  expect(holdTextOf({ by: 'gate' }, { ...phase, gate: { min_upgraded: 10, passed: false } })).toBe(
    'closed by the results',
  )
  expect(holdTextOf({ by: 'check' }, checked)).toBe('waits for a check')
  expect(holdTextOf({ by: 'user' }, checked)).toBe('paused by a person')
})
