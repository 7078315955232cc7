import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { inFlightStates, terminalStates, waitingStates } from '../upgrades/upgrade.ts'
import { type NewestUpgrade, decideFwUpdate } from './decide-fwupdate.ts'

const upgrade: NewestUpgrade = {
  state: 'planned',
  steps: 2,
  step: 0,
  staged: 0,
  attempt: 0,
  failedAttempts: 0,
  progress: null,
  upgrades: 1,
}
const show = (changes: Partial<NewestUpgrade>) => decideFwUpdate({ ...upgrade, ...changes })

describe('the shown progress of an upgrade', () => {
  test('follows it from its plan to its end', () => {
    const ready = { staged: 2 }
    const life: Partial<NewestUpgrade>[] = [
      {},
      { state: 'downloading', attempt: 1 },
      { state: 'downloading', attempt: 1, progress: { step: 'download', percent: 50 } },
      { state: 'downloading', attempt: 2, staged: 1 },
      { state: 'downloaded', attempt: 2, ...ready },
      { state: 'commanded', attempt: 3, ...ready },
      { state: 'verifying', attempt: 3, ...ready },
      { state: 'commanded', attempt: 4, step: 1, ...ready },
      { state: 'verifying', attempt: 4, step: 1, ...ready },
      { state: 'upgraded', attempt: 4, step: 1, ...ready },
    ]
    const shown = life.map(show)
    expect(shown.map((each) => each?.progress)).toEqual([0, 5, 21, 38, 70, 70, 80, 80, 95, 100])
    expect(shown.map((each) => each?.status)).toEqual(['scheduled', ...Array(8).fill('inprogress'), 'success'])
    expect(shown.every((each) => each?.will_retry === false)).toBe(true)
    expect(new Set(shown.map((each) => each?.status_id)).size).toBe(life.length)
  })

  test('does not pass the mark of the download before a command that downloads by itself has downloaded', () => {
    const commanded = { state: 'commanded', attempt: 1, steps: 1 } as const
    expect(show(commanded)?.progress).toBe(5)
    expect(show({ ...commanded, progress: { step: 'download', percent: 100 } })?.progress).toBe(70)
    expect(show({ ...commanded, progress: { step: 'install' } })?.progress).toBe(70)
  })

  test('says that another attempt follows one that has failed, until the last one has failed', () => {
    expect(show({ attempt: 1, failedAttempts: 1 })).toMatchObject({ status: 'scheduled', will_retry: true })
    const again = { state: 'commanded', attempt: 2, failedAttempts: 1 } as const
    expect(show(again)).toMatchObject({ status: 'inprogress', will_retry: true })
    expect(show({ state: 'failed', attempt: 3, failedAttempts: 3 })).toMatchObject({
      status: 'failed',
      progress: 0,
      will_retry: false,
    })
  })

  test('is missing for an appliance that was left out', () => {
    expect(show({ state: 'skipped' })).toBeNull()
    expect(show({ state: 'cancelled', attempt: 1 })).toBeNull()
  })
})

const upgrades = fc
  .record({
    state: fc.constantFrom(...waitingStates, ...inFlightStates, ...terminalStates),
    steps: fc.integer({ min: 1, max: 5 }),
    attempt: fc.integer({ min: 0, max: 900 }),
    upgrades: fc.integer({ min: 1, max: 50 }),
    progress: fc.option(
      fc.record({
        step: fc.constantFrom('download' as const, 'install' as const),
        percent: fc.integer({ min: 0, max: 100 }),
      }),
    ),
  })
  .chain((some) =>
    fc
      .record({ step: fc.integer({ min: 0, max: some.steps - 1 }), staged: fc.integer({ min: 0, max: some.steps }) })
      .map((places): NewestUpgrade => Object.assign(places, some, { failedAttempts: 0 })),
  )

test('two states of upgrades that look different have different ids', () => {
  fc.assert(
    fc.property(upgrades, upgrades, (one, other) => {
      const [a, b] = [decideFwUpdate(one), decideFwUpdate(other)]
      if (a === null || b === null) return
      expect([a.progress, b.progress].every((progress) => progress >= 0 && progress <= 100)).toBe(true)
      if (a.status !== b.status || a.progress !== b.progress) expect(a.status_id).not.toBe(b.status_id)
      if (one.upgrades !== other.upgrades) expect(a.status_id).not.toBe(b.status_id)
    }),
  )
})
