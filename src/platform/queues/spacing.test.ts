import { describe, expect, test } from 'vitest'
import { Spacing } from './spacing.ts'

const limits = { ms: 50, arrivalsPerS: 100 }

/** Lets items arrive at a constant rate, writes them as soon as permitted, and returns the times of the batches. */
function startsOf(arrivalsPerS: number, seconds: number): number[] {
  const spacing = new Spacing(limits)
  const starts: number[] = []
  let waiting = 0
  const everyMs = 1000 / arrivalsPerS
  for (let nowMs = 0, nextMs = 0; nowMs < 1000 * seconds; nowMs += 1) {
    for (; nextMs <= nowMs; nextMs += everyMs) {
      spacing.add(nowMs)
      waiting += 1
    }
    if (waiting === 0 || spacing.pauseMs(nowMs) > 0) continue
    spacing.start(nowMs)
    starts.push(nowMs)
    waiting = 0
  }
  return starts
}

describe('Spacing', () => {
  test('delays no item while few arrive', () => {
    expect(startsOf(80, 2)).toHaveLength(160)
  })

  test('spaces the batches while many arrive', () => {
    const starts = startsOf(300, 4).filter((ms) => ms >= 1000)
    expect(starts).toHaveLength(60)
  })

  test('delays no item after a pause', () => {
    const spacing = new Spacing(limits)
    for (let item = 0; item < 100; item += 1) spacing.add(0)
    spacing.start(0)
    spacing.add(10)
    expect(spacing.pauseMs(10)).toBe(40)
    spacing.add(1500)
    spacing.start(1500)
    expect(spacing.pauseMs(1501)).toBe(0)
  })
})
