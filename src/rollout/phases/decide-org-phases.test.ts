import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { planned } from '../../../test/support/fleets/targets.ts'
import { type OrgPhases, countOrgPhases, decideOrgPhases } from './decide-org-phases.ts'
import type { Step } from '../rounds/decide-step.ts'
import { type PhaseGate, type TargetState, isInFlight, isTerminal } from '../rollout.ts'
import type { TargetNow } from '../targets/target.ts'

const at = { now: new Date('2026-03-01T00:00:00Z'), nowMs: 1000 }

/** The gates of canary phases, without and with limits by phase. */
const tolerating = (percent: number) => ({ max_failures: null, max_failure_percentage: percent, min_upgraded: 1 })
const limited = (failures: number) => ({ max_failures: failures, max_failure_percentage: null, min_upgraded: 0 })

function phasesOf(sizes: readonly number[], more: Partial<OrgPhases> = {}): OrgPhases {
  const pending = Object.fromEntries(sizes.map((size, index) => [index + 1, size]))
  const gates = sizes.map(() => tolerating(5))
  const rest = { gates, current: 1, gatePassed: 0, approved: [], hurried: [], failures: {}, upgraded: {} }
  return { sizes, ...rest, pending, hold: null, stopping: null, ...more }
}

function step(phase: number, state: TargetState, to: TargetState, reason: string | null = null): Step {
  const target: TargetNow = { ...planned, phase, state }
  return { target, to, reason, failedAttempts: 0, lostAttempts: 0, retryAtMs: null, staged: false, order: null }
}

const after = (phases: OrgPhases, steps: readonly Step[]) => decideOrgPhases(countOrgPhases(phases, steps), at)

describe('the gate after a phase', () => {
  const two = phasesOf([2, 3])

  test('waits for the last target, wherever it is', () => {
    expect(after(two, [step(1, 'planned', 'upgraded')])).toMatchObject({ current: 1, pending: { 1: 1, 2: 3 } })
    expect(after(two, [step(1, 'planned', 'upgraded'), step(1, 'planned', 'dl_requested')]).current).toBe(1)
    expect(after(two, [step(1, 'planned', 'upgraded'), step(1, 'planned', 'skipped')]).current).toBe(2)
  })

  test('does not wait for absent devices, but for those that have come back', () => {
    const open = { ...phasesOf([2, 3, 1]), current: 2, pending: { 1: 0, 2: 1, 3: 1 } }
    expect(after(open, [step(2, 'verifying', 'upgraded')]).current).toBe(3)
    expect(after(open, [step(2, 'verifying', 'upgraded'), step(1, 'deferred', 'dl_requested')]).current).toBe(2)
  })

  test('passes phases that are empty', () => {
    expect(after(phasesOf([1, 0, 3, 3]), [step(1, 'planned', 'upgraded')]).current).toBe(3)
  })

  test.each(['skipped', 'deferred', 'cancelled'] as const)('holds where all targets of a phase were %s', (state) => {
    const [first, second] = [2, 2].map((phase) => step(phase, 'planned', state))
    if (first === undefined || second === undefined) throw new Error('no steps')
    const open = { ...phasesOf([1, 2, 3]), current: 2, pending: { 1: 0, 2: 2, 3: 3 }, upgraded: { 1: 1 } }
    const hold = { by: 'gate', reason: '0 of 2 devices of phase 2 were upgraded', since_ms: 1000 }
    expect(after(open, [first, second])).toMatchObject({ current: 2, hold })
    expect(after(open, [first, step(2, 'verifying', 'upgraded')])).toMatchObject({ hold: null })
    // Limits by phase replace it.
    const replaced = { ...open, gates: [limited(0), limited(0), limited(0)] }
    expect(after(replaced, [first, second])).toMatchObject({ current: 3, hold: null })
  })

  test('holds where more failed than the percentage of the phase over all sites', () => {
    const failed = [step(1, 'verifying', 'failed', 'not_applied')]
    const held = after(phasesOf([1, 99]), failed)
    expect(held).toMatchObject({
      current: 1,
      hold: { by: 'gate', reason: '1 of 1 devices of phase 1 failed, more than 5 %', since_ms: 1000 },
    })
    expect(
      after(phasesOf([1, 99]), [step(1, 'deferred', 'failed', 'offline'), step(1, 'planned', 'upgraded')]),
    ).toMatchObject({ current: 2, hold: null, failures: {} })
    // Limits by phase replace it.
    expect(after(phasesOf([1, 99], { gates: [limited(1), limited(0)] }), failed)).toMatchObject({
      current: 2,
      hold: null,
    })
    expect(after(phasesOf([1, 99], { gatePassed: 1 }), failed)).toMatchObject({ current: 2, hold: null })
  })

  test('opens nothing while the upgrade is held or stops', () => {
    const hold = { by: 'user', reason: 'paused', since_s: 0, since_ms: 0 } as const
    const settled = [step(1, 'planned', 'upgraded'), step(1, 'planned', 'upgraded')]
    expect(after({ ...two, hold }, settled)).toMatchObject({ current: 1, hold: null })
    expect(after({ ...two, stopping: 'cancelled' }, settled)).toMatchObject({ current: 1, hold: null })
  })
})

test('a phase of the downloads counts images, and its pause is one of the downloads', () => {
  const loading = (to: TargetState, staged: boolean): Step => {
    const { target, ...rest } = step(2, 'planned', to, 'refused')
    return { ...rest, staged, target: { ...target, downloadPhase: 1 } }
  }
  const failed = loading('failed', false)
  const phases = phasesOf([1, 1])
  expect(after({ ...phases, of: 'downloads' }, [failed])).toEqual({
    ...{ current: 1, pending: { 1: 0, 2: 1 }, failures: { 1: 1 }, upgraded: {} },
    hold: {
      ...{ by: 'gate', of: 'downloads', reason: '1 of 1 devices of download phase 1 failed, more than 5 %' },
      ...{ since_s: at.now.getTime() / 1000, since_ms: 1000 },
    },
  })
  const loaded = after({ ...phases, of: 'downloads' }, [loading('downloaded', true)])
  expect(loaded).toMatchObject({ current: 2, pending: { 1: 0, 2: 1 }, upgraded: { 1: 1 }, hold: null })
  expect(after(phases, [step(1, 'verifying', 'failed', 'refused')]).hold).not.toHaveProperty('of')
})

const moves: readonly (readonly [TargetState, TargetState])[] = [
  ['planned', 'dl_requested'],
  ['planned', 'deferred'],
  ['planned', 'skipped'],
  ['deferred', 'dl_requested'],
  ['dl_requested', 'deferred'],
  ['dl_requested', 'rebooting'],
  ['dl_requested', 'failed'],
  ['rebooting', 'verifying'],
  ['verifying', 'upgraded'],
  ['verifying', 'failed'],
]

test('whatever devices do, no phase opens before the one before has settled, and the counters are true', () => {
  const choices = fc.array(fc.tuple(fc.nat(1000), fc.nat(1000)), { maxLength: 200 })
  const sizes = fc.array(fc.nat(4), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(sizes, choices, fc.nat(100), (sizes, choices, percent) => {
      const targets = sizes.flatMap((size, index) =>
        Array.from({ length: size }, () => ({ phase: index + 1, state: 'planned' as TargetState })),
      )
      let phases = phasesOf(sizes, { gates: sizes.map(() => tolerating(percent)) })
      const apply = (steps: readonly Step[]): void => {
        const before = phases.current
        const { hold, ...changed } = after(phases, steps)
        phases = { ...phases, ...changed, hold: hold ?? phases.hold }
        const pending = (upTo: number) =>
          targets.filter(({ phase, state }) => phase <= upTo && (state === 'planned' || isInFlight(state))).length
        for (const [index] of sizes.entries())
          expect(phases.pending[index + 1]).toBe(pending(index + 1) - pending(index))
        expect(phases.current).toBeGreaterThanOrEqual(before)
        if (phases.current > before) expect(pending(phases.current - 1)).toBe(0)
        // No upgrade waits for a gate that could open.
        if (pending(phases.current) === 0) expect(phases.current === sizes.length || phases.hold !== null).toBe(true)
        // A person resumes it.
        if (phases.hold !== null) {
          phases = { ...phases, hold: null, gatePassed: phases.current }
          apply([])
        }
      }
      apply([])
      for (const [which, what] of choices) {
        const open = targets.filter(({ phase, state }) => phase <= phases.current && !isTerminal(state))
        const target = open[which % Math.max(1, open.length)]
        if (target === undefined) break
        const possible = moves.filter(([from]) => from === target.state)
        const move = possible[what % possible.length]
        if (move === undefined) throw new Error(`no way on from ${target.state}`)
        target.state = move[1]
        apply([step(target.phase, move[0], move[1])])
      }
    }),
  )
})

describe('a gate that waits for a person', () => {
  const waitsFor = (wait: 'approval' | 'pause') => [{ ...tolerating(5), wait_for: wait }, tolerating(5)]
  const done = (more: Partial<OrgPhases>) =>
    decideOrgPhases(phasesOf([2, 3], { pending: { 1: 0, 2: 3 }, upgraded: { 1: 2 }, ...more }), at)

  test('opens the next phase only after its approval, even if the upgrade was resumed', () => {
    const gates = waitsFor('approval')
    const hold = { by: 'approval', reason: 'phase 1 ended and waits for an approval' }
    expect(done({ gates })).toMatchObject({ current: 1, hold })
    expect(done({ gates, gatePassed: 1 })).toMatchObject({ current: 1, hold })
    expect(done({ gates, approved: [1] })).toMatchObject({ current: 2, hold: null })
    expect(done({ gates, approved: [2] })).toMatchObject({ current: 1, hold })
  })

  test('opens the next phase only after as many approvals as it needs', () => {
    const gates = [{ ...tolerating(5), wait_for: 'approval' as const, approvals: 2 }, tolerating(5)]
    const waits = (missing: number) => ({
      hold: { reason: `phase 1 ended and waits for ${missing} of 2 approvals by different people`, missing },
    })
    expect(done({ gates })).toMatchObject(waits(2))
    expect(done({ gates, approved: [1, 2] })).toMatchObject(waits(1))
    expect(done({ gates, approved: [1, 1] })).toMatchObject({ current: 2, hold: null })
  })

  test('waits for a time from the end of the phase on, until something or somebody passes the gate', () => {
    const gates = [{ ...tolerating(5), wait_for: 'time' as const, minutes: 30 }, tolerating(5)]
    const hold = { by: 'time', reason: 'phase 1 ended and waits for 30 minutes', wait_ms: 1_800_000 }
    expect(done({ gates })).toMatchObject({ current: 1, hold: { ...hold, since_ms: at.nowMs } })
    expect(done({ gates, approved: [1] })).toMatchObject({ current: 1, hold })
    expect(done({ gates, gatePassed: 1 })).toMatchObject({ current: 2, hold: null })
  })

  describe('with an instant', () => {
    const nowS = at.now.getTime() / 1000
    const url = 'http://check.test'
    const gatesOf = (gate: Partial<PhaseGate>, inS = 60) => [
      { ...tolerating(5), ...gate, not_before_s: nowS + inS },
      tolerating(5),
    ]
    const instant = { by: 'time', reason: 'phase 1 ended and waits until 2026-03-01T00:01:00.000Z' }
    const approval = { by: 'approval', reason: 'phase 1 ended and waits for an approval' }

    test.each<[string, Partial<PhaseGate>, Partial<OrgPhases>, object | null]>([
      ['waits for it', { wait_for: 'time' }, {}, { ...instant, not_before_s: nowS + 60 }],
      ['also where a person resumed it after failures', { wait_for: 'time' }, { gatePassed: 1 }, instant],
      ['unless a person opened the next phase before it', { wait_for: 'time' }, { hurried: [1] }, null],
      ['which is that of one phase', { wait_for: 'time' }, { hurried: [2] }, instant],
      [
        'waits for its minutes as well',
        { wait_for: 'time', minutes: 30 },
        {},
        {
          ...{ by: 'time', wait_ms: 1_800_000, not_before_s: nowS + 60 },
          reason: 'phase 1 ended and waits for 30 minutes and until 2026-03-01T00:01:00.000Z',
        },
      ],
      ['waits for its approval first', { wait_for: 'approval' }, {}, approval],
      ['waits after its approval', { wait_for: 'approval' }, { approved: [1] }, instant],
      ['waits after its approval and failures', { wait_for: 'approval' }, { approved: [1], gatePassed: 1 }, instant],
      ['waits before its check', { wait_for: 'check', url }, {}, instant],
      ['waits where a person took the place of its check', { wait_for: 'check', url }, { gatePassed: 1 }, instant],
      ['waits after an empty phase', { wait_for: 'approval' }, { sizes: [0, 3] }, instant],
      ['waits after failures', { wait_for: 'time' }, { upgraded: {} }, { by: 'gate' }],
    ])('%s', (_, gate, more, hold) => {
      const decided = done({ gates: gatesOf(gate), ...more })
      expect(decided).toMatchObject(hold === null ? { current: 2, hold } : { current: 1, hold })
    })

    test('waits no longer once it is over', () => {
      expect(done({ gates: gatesOf({ wait_for: 'time' }, 0) })).toMatchObject({ current: 2, hold: null })
      expect(done({ gates: gatesOf({ wait_for: 'check', url }, 0) })).toMatchObject({ hold: { by: 'check' } })
      expect(done({ gates: gatesOf({ wait_for: 'approval' }, 0) })).toMatchObject({ hold: approval })
    })
  })

  test('pauses the upgrade until a person resumes it', () => {
    const gates = waitsFor('pause')
    expect(done({ gates })).toMatchObject({ current: 1, hold: { by: 'gate' } })
    expect(done({ gates, gatePassed: 1 })).toMatchObject({ current: 2, hold: null })
  })

  test('asks for an approval only after enough devices were upgraded, and not of an empty phase', () => {
    const gates = waitsFor('approval')
    expect(done({ gates, upgraded: {} })).toMatchObject({ current: 1, hold: { by: 'gate' } })
    expect(decideOrgPhases(phasesOf([0, 3], { gates }), at)).toMatchObject({ current: 2, hold: null })
  })

  test('never opens a phase whose gate waits, whatever happens', () => {
    const needed = fc.array(fc.constantFrom(1, 2, 3, 'time' as const, undefined), { minLength: 4, maxLength: 4 })
    const phase = fc.integer({ min: 1, max: 4 })
    const inS = fc.array(fc.constantFrom(undefined, -1, 0, 1), { minLength: 4, maxLength: 4 })
    const nowS = at.now.getTime() / 1000
    const sizes = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 4, maxLength: 4 })
    fc.assert(
      fc.property(
        fc.record({
          ...{ waits: needed, phases: sizes, instants: inS },
          approved: fc.array(phase, { maxLength: 8 }),
          hurried: fc.array(phase, { maxLength: 4 }),
          passed: fc.integer({ min: 0, max: 4 }),
        }),
        ({ waits, phases, approved, hurried, instants, passed }) => {
          const counts = Object.fromEntries(phases.map((size, index) => [index + 1, size]))
          const world = phasesOf(phases, {
            gates: waits.map((approvals, index) => ({
              ...tolerating(5),
              ...(approvals === 'time' && { wait_for: approvals, minutes: 1 }),
              ...(typeof approvals === 'number' && { wait_for: 'approval' as const, approvals }),
              ...(instants[index] !== undefined && { not_before_s: nowS + instants[index] }),
            })),
            pending: {},
            upgraded: counts,
            approved,
            hurried,
            gatePassed: passed,
          })
          const { current } = decideOrgPhases(world, at)
          for (const [index, inS] of instants.entries())
            if (index + 1 < current && (inS ?? 0) > 0) expect(hurried).toContain(index + 1)
          for (const [index, wait] of waits.entries())
            if (index + 1 < current && wait === 'time' && (phases[index] ?? 0) > 0)
              expect(passed).toBeGreaterThan(index)
            else if (index + 1 < current && typeof wait === 'number' && (phases[index] ?? 0) > 0)
              expect(approved.filter((phase) => phase === index + 1).length).toBeGreaterThanOrEqual(wait)
        },
      ),
    )
  })
})
