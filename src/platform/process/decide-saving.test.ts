import { describe, expect, test } from 'vitest'
import { type Saving, type SavingRule, decideSaving, notSaving } from './decide-saving.ts'

const LEAST_LIMIT_MB = 400
const rule: SavingRule = { leastLimitMb: LEAST_LIMIT_MB, enoughPart: 0.8, room: 1.25 }

/** Decides once a second. */
function decideAll(start: Saving, residents: readonly number[]): Saving[] {
  let saving = start
  return residents.map((residentMb, index) => (saving = decideSaving(saving, { residentMb, nowMs: 1000 * index })))
}

const inUse = (residentMb: number, seconds: number): number[] => Array.from({ length: seconds }, () => residentMb)

describe('saving memory', () => {
  test('begins above the limit and ends when a fifth of it is free', () => {
    const decided = decideAll(notSaving(rule), [LEAST_LIMIT_MB, LEAST_LIMIT_MB + 1, 330, 321, 319, 330])
    expect(decided.map(({ isOn }) => isOn)).toEqual([false, true, true, true, false, false])
  })

  test('ends after two minutes, because what remains is in use, and begins again a quarter above it', () => {
    const decided = decideAll(notSaving(rule), [...inUse(800, 121), 1000, 1001])
    expect(decided.map(({ isOn }) => isOn)).toEqual([...Array<boolean>(120).fill(true), false, false, true])
  })

  test('takes the least of two minutes for what is in use', () => {
    const decided = decideAll(notSaving(rule), [...inUse(600, 60), 480, ...inUse(600, 60)])
    expect(decided.at(-1)).toMatchObject({ isOn: false, limitMb: 600 })
  })

  test('lowers the limit with what is in use, but not below the least', () => {
    const decided = decideAll(notSaving(rule), [...inUse(800, 121), 600, 751, 250, LEAST_LIMIT_MB + 1])
    const after = decided.slice(121).map(({ isOn, limitMb }) => ({ isOn, limitMb }))
    expect(after).toEqual([
      { isOn: false, limitMb: 750 },
      { isOn: true, limitMb: 750 },
      { isOn: false, limitMb: LEAST_LIMIT_MB },
      { isOn: true, limitMb: LEAST_LIMIT_MB },
    ])
  })

  test('follows its rule', () => {
    const decided = decideAll(notSaving({ leastLimitMb: 500, enoughPart: 0.9, room: 1.1 }), [501, 451, 449, 501])
    expect(decided.map(({ isOn }) => isOn)).toEqual([true, true, false, true])
    const long = decideAll(notSaving({ leastLimitMb: 500, enoughPart: 0.9, room: 1.1 }), inUse(600, 121))
    expect(long.at(-1)).toMatchObject({ isOn: false, limitMb: expect.closeTo(660) })
  })

  test('tolerates a clock that stands still', () => {
    const saving = { ...notSaving(rule), isOn: true, sinceMs: 7, lowestMb: 600 }
    expect(decideSaving(saving, { residentMb: 600, nowMs: 7 })).toEqual(saving)
  })
})
