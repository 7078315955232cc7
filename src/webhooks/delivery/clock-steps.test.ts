import { expect, it } from 'vitest'
import { MIN_STEP_MS, createClockSteps, setBackMs } from './clock-steps.ts'

const HOUR_MS = 3600e3

it('returns once by how much the wall clock was set back, and 0 for other steps', () => {
  let [wall, monotonic] = [1e12, 5000]
  const takeStep = createClockSteps(
    () => wall,
    () => monotonic,
  )
  const pass = (wallMs: number, monotonicMs: number): number => {
    wall += wallMs
    monotonic += monotonicMs
    return takeStep()
  }
  expect(pass(0, 0)).toBe(0)
  expect(pass(1000, 1000)).toBe(0)
  expect(pass(HOUR_MS, 1000)).toBe(0)
  expect(pass(-HOUR_MS, 0)).toBe(HOUR_MS)
  expect(pass(1000, 1000)).toBe(0)
  expect(pass(-MIN_STEP_MS + 1, 0)).toBe(0)
  expect(pass(0, 1000)).toBe(0)
  // It stood still while time passed.
  expect(pass(0, MIN_STEP_MS)).toBe(MIN_STEP_MS)
  // A process that was suspended.
  expect(pass(HOUR_MS, 0)).toBe(0)
})

it('returns by how much the clock is behind the last run', () => {
  const now = new Date(1e12)
  expect(setBackMs(null, now)).toBe(0)
  expect(setBackMs(new Date(1e12 - HOUR_MS), now)).toBe(0)
  expect(setBackMs(new Date(1e12 + MIN_STEP_MS - 1), now)).toBe(0)
  for (const backMs of [MIN_STEP_MS, HOUR_MS]) expect(setBackMs(new Date(1e12 + backMs), now)).toBe(backMs)
})
