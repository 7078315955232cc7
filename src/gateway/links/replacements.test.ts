import { expect, it } from 'vitest'
import { watchReplacements } from './replacements.ts'

/** Replaces a device at each instant. @returns The instants at which it counted as suspicious. */
function suspicions(instantsS: readonly number[]): number[] {
  let nowMs = 0
  const replacements = watchReplacements(() => nowMs)
  return instantsS.filter((instantS) => {
    nowMs = instantS * 1000
    return replacements.add('device')
  })
}

const every = (seconds: number, count: number): number[] => Array.from({ length: count }, (_, index) => index * seconds)

it('suspects a device that is replaced every few seconds, once a window', () => {
  expect(suspicions(every(5, 100))).toEqual([45, 350])
})

it('does not suspect a device whose connection breaks now and then', () => {
  expect(suspicions(every(60, 100))).toEqual([])
  expect(suspicions([0, 10, 30, 60, 100, 150, 210, 280])).toEqual([])
})

it('distinguishes devices', () => {
  const replacements = watchReplacements(() => 0)
  expect(every(1, 9).some(() => replacements.add('one'))).toBe(false)
  expect(replacements.add('two')).toBe(false)
  expect(replacements.add('one')).toBe(true)
})
