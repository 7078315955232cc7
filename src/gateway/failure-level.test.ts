import { expect, test } from 'vitest'
import { createFailureLevel } from './failure-level.ts'

const failure = new Error('Connection terminated unexpectedly')

test('one failure of the database in ten seconds is an error', () => {
  let nowMs = 0
  const levelOf = createFailureLevel('error', () => nowMs)
  const levels = [0, 1, 9999, 10_000, 10_001].map((ms) => {
    nowMs = ms
    return levelOf(failure)
  })
  expect(levels).toEqual(['error', 'debug', 'debug', 'error', 'debug'])
})

test('a defect is always an error', () => {
  const levelOf = createFailureLevel('error', () => 0)
  expect([failure, new TypeError('x'), new TypeError('x')].map(levelOf)).toEqual(['error', 'error', 'error'])
})
