import { describe, expect, it } from 'vitest'
import { downloadRate, realPace, reconnectDelayMs, timingOf, watchdogMs } from './pace.ts'

describe('reconnectDelayMs', () => {
  it('is 10, 20, 30 ... 900 s for access points and 5 s for switches, scaled', () => {
    expect([1, 2, 3, 90, 500].map((n) => reconnectDelayMs('ap', n, 1))).toEqual([
      10_000, 20_000, 30_000, 900_000, 900_000,
    ])
    expect([1, 2, 90].map((n) => reconnectDelayMs('switch', n, 0.1))).toEqual([500, 500, 500])
  })
})

describe('watchdogMs', () => {
  it('is five minutes for access points, scaled; switches have none', () => {
    expect([watchdogMs('ap', 1), watchdogMs('ap', 0.01), watchdogMs('switch', 1)]).toEqual([300_000, 3000, null])
  })
})

describe('timingOf', () => {
  it('scales all times', () => {
    const timing = timingOf({ ...realPace, bootMs: 5000, flashMs: 7000, timeScale: 0.01 }, new Set())
    expect(timing).toEqual({ bootMs: 50, flashMs: 70, triggerMs: 100, goodbyeMs: 100, statusMs: 10, flapMs: 150 })
  })

  it('makes slow devices ten times slower', () => {
    expect(timingOf(realPace, new Set(['slow']))).toMatchObject({ bootMs: 300_000, flashMs: 600_000 })
    expect(downloadRate({ ...realPace, downloadBytesPerS: 500 }, new Set(['slow']))).toBe(50)
    expect(downloadRate(realPace, new Set(['slow']))).toBeGreaterThan(0)
    expect(downloadRate(realPace, new Set())).toBe(0)
  })
})
