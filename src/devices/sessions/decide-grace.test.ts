import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Grace, updateGrace } from './decide-grace.ts'

const SECOND = 1000
/** The interval between checks of a gateway. */
const LOOK_S = 5
const MAX_S = 960

/** Yields when an access point tries again, in seconds after its loss, where each try takes `tryS`. */
function* tries(tryS: number): Generator<number> {
  let at = 0
  for (let pause = 10; ; pause = Math.min(900, pause + 10)) {
    at += pause
    yield at
    at += tryS
  }
}

/** Returns a device's tries that reach a gateway which listens again after `outageS`, in seconds since then. */
function triesAfter(outageS: number, tryS: number, count: number): number[] {
  const found: number[] = []
  for (const at of tries(tryS)) {
    if (at >= outageS) found.push(at - outageS + tryS)
    if (found.length === count) break
  }
  return found
}

/**
 * @param backS The time at which each device comes back. @returns The end of the grace period, in seconds since the
 *   gateway began to listen.
 */
function graceEnds(outageS: number, backS: readonly number[]): number {
  let grace: Grace | null = null
  for (let at = 0; ; at += LOOK_S) {
    const lost = backS.filter((back) => back > at).length
    grace = updateGrace(grace, { lost, outageMs: (outageS + at) * SECOND }, at * SECOND)
    if (grace === null) return Infinity
    if (grace.isOver) return at
  }
}

const never = Infinity
const outage = fc.integer({ min: 0, max: 100_000 })

describe('the grace period of lost devices', () => {
  test.each([
    { outageS: 5, back: [], endsS: 75 },
    { outageS: 5, back: [5, 5, 6], endsS: 80 },
    { outageS: 60, back: [], endsS: 135 },
    { outageS: 600, back: [], endsS: 275 },
    { outageS: 3600, back: [], endsS: 595 },
    { outageS: 100_000, back: [], endsS: 960 },
  ])('ends after $endsS s for a missing device after an outage of $outageS s', ({ outageS, back, endsS }) => {
    expect(graceEnds(outageS, [...back, never])).toBe(endsS)
  })

  test('does not end before every live device has attempted to connect twice', () => {
    const devices = fc.array(fc.record({ tryS: fc.integer({ min: 0, max: 15 }), needs: fc.constantFrom(1, 2) }), {
      minLength: 1,
      maxLength: 20,
    })
    fc.assert(
      fc.property(outage, devices, (outageS, all) => {
        const backS = all.map(({ tryS, needs }) => triesAfter(outageS, tryS, needs).at(-1) ?? 0)
        const inTime = backS.filter((back) => back < MAX_S)
        expect(graceEnds(outageS, [...inTime, never])).toBeGreaterThan(Math.max(0, ...inTime))
      }),
    )
  })

  test('lasts through a storm, while each wave of attempts reconnects some devices', () => {
    const waves = fc.integer({ min: 1, max: 8 })
    fc.assert(
      fc.property(outage, waves, (outageS, count) => {
        const backS = triesAfter(outageS, 15, count)
        const inTime = backS.filter((back) => back < MAX_S)
        expect(graceEnds(outageS, [...inTime, never])).toBeGreaterThan(Math.max(0, ...inTime))
      }),
    )
  })

  test('ends after 16 minutes at the latest, and is null while no device is lost', () => {
    const backS = fc.array(fc.integer({ min: 0, max: 3000 }), { maxLength: 50 })
    fc.assert(
      fc.property(outage, backS, (outageS, all) => {
        expect(graceEnds(outageS, [...all, never])).toBeLessThanOrEqual(MAX_S)
      }),
    )
    expect(updateGrace(null, { lost: 0, outageMs: 0 }, 1e9)).toBeNull()
  })

  test('starts again when more devices are lost, and stays over while lost ones are recorded', () => {
    let grace: Grace | null = null
    const look = (lost: number, atS: number): boolean | undefined => {
      grace = updateGrace(grace, { lost, outageMs: 0 }, atS * SECOND)
      return grace?.isOver
    }
    expect([look(10, 0), look(10, 55), look(10, 75)]).toEqual([false, false, true])
    expect([look(6, 80), look(2, 85)]).toEqual([true, true])
    expect([look(3, 90), look(3, 145), look(3, 165)]).toEqual([false, false, true])
    expect([look(0, 170), look(1, 1000)]).toEqual([undefined, false])
  })
})
