import { describe, expect, test } from 'vitest'
import { type Idleness, decideIdle, idle } from './decide-idle.ts'

/** Decides four times a second. */
function decideAll(parts: readonly number[]): Idleness[] {
  let idleness = idle
  return parts.map((part, index) => (idleness = decideIdle(idleness, { part, nowMs: 250 * index })))
}

const seconds = (count: number, part: number): number[] => Array.from({ length: 4 * count }, () => part)

/** How long the process was busy at the end of its busy time, in seconds. */
function busySeconds(parts: readonly number[]): number {
  return decideAll(parts).filter(({ isIdle }) => !isIdle).length / 4
}

describe('idleness', () => {
  test('ends within a second of load', () => {
    const decided = decideAll(seconds(2, 0.8))
    expect(decided.map(({ isIdle }) => isIdle).indexOf(false)).toBeLessThan(4)
  })

  test('lasts through a short turn', () => {
    expect(busySeconds([...seconds(5, 0.01), 0.2, ...seconds(60, 0.01)])).toBe(0)
  })

  test('lasts through a small load', () => {
    expect(busySeconds(seconds(300, 0.05))).toBe(0)
  })

  test('begins half a minute after the load', () => {
    const busy = busySeconds([...seconds(10, 1), ...seconds(120, 0.02)])
    expect(busy).toBeGreaterThan(40)
    expect(busy).toBeLessThan(45)
  })

  test('does not begin between bursts', () => {
    const burst = [...seconds(2, 1), ...seconds(25, 0.01)]
    expect(decideAll([...burst, ...burst, ...burst]).at(-1)).toMatchObject({ isIdle: false })
  })

  test('does not begin under a load that would not end it', () => {
    expect(decideAll([...seconds(2, 1), ...seconds(300, 0.05)]).at(-1)).toMatchObject({ isIdle: false })
  })
})
