import fc from 'fast-check'
import { expect, test } from 'vitest'
import { countFailures, decideNext } from './decide-next.ts'

test('an agent whose registration has ended stops', () => {
  expect(decideNext(4001, 0, 0.5)).toEqual({ kind: 'stop' })
})

test('an agent that another one has replaced waits for five to ten minutes', () => {
  expect([0, 1].map((random) => decideNext(4409, 0, random))).toEqual([
    { kind: 'wait', ms: 300_000 },
    { kind: 'wait', ms: 600_000 },
  ])
})

test('otherwise the pause doubles up to a minute, and half of it is random', () => {
  const longest = [0, 1, 2, 3, 6, 100].map((failures) => decideNext(1006, failures, 1))
  expect(longest).toEqual([1000, 2000, 4000, 8000, 60_000, 60_000].map((ms) => ({ kind: 'wait', ms })))
  fc.assert(
    fc.property(fc.nat(1000), fc.double({ min: 0, max: 1, noNaN: true }), (failures, random) => {
      const next = decideNext(1006, failures, random)
      const most = decideNext(1006, failures, 1)
      if (next.kind !== 'wait' || most.kind !== 'wait') throw new Error('must wait')
      expect(next.ms).toBeGreaterThanOrEqual(most.ms / 2)
      expect(next.ms).toBeLessThanOrEqual(most.ms)
    }),
  )
})

test('counts connections that failed in a row, also those that the agent itself had to end', () => {
  expect(countFailures(3, { wasWelcome: true, hasFailed: false })).toBe(0)
  expect(countFailures(3, { wasWelcome: true, hasFailed: true })).toBe(4)
  expect(countFailures(3, { wasWelcome: false, hasFailed: false })).toBe(4)
})
