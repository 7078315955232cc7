import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decideCheck } from './decide-check.ts'

const answer = (body: unknown, status: number | null = 200, attempt = 1, error: string | null = null) =>
  decideCheck({ attempt, status, body: typeof body === 'string' ? body : JSON.stringify(body), error })
const retry = (failure: string) => ({ kind: 'retry', afterMs: 5000, failure }) as const

test.each([
  [{ open: true }, 200, { kind: 'open', note: null }],
  [{ open: true, reason: 'all quiet' }, 202, { kind: 'open', note: 'all quiet' }],
  [{ open: false, reason: 'loss is 4 %' }, 200, { kind: 'hold', reason: 'the check says: loss is 4 %' }],
  [{ open: false }, 200, { kind: 'hold', reason: 'the check says: no' }],
  [{ open: true, reason: 4 }, 299, { kind: 'open', note: null }],
  [{ open: true }, 199, retry('gave the status 199 at attempt 1 of 7')],
  [{ open: true }, 300, retry('gave the status 300 at attempt 1 of 7')],
  [{ open: true }, null, retry('gave no answer at attempt 1 of 7')],
  [{ open: 'true' }, 200, retry('gave an answer without open at attempt 1 of 7')],
  [{ open: true }, 500, retry('gave the status 500 at attempt 1 of 7')],
  [{ open: true }, 302, retry('gave the status 302 at attempt 1 of 7')],
  ['', null, retry('gave no answer at attempt 1 of 7')],
  ['null', 200, retry('gave an answer without open at attempt 1 of 7')],
  ['<html>', 200, retry('gave an answer without open at attempt 1 of 7')],
] as const)('%j with the status %s', (body, status, verdict) => {
  expect(answer(body, status)).toEqual(verdict)
})

test('a check that never answers holds for a person in the end', () => {
  const failure = 'gave the status 503 at attempt 6 of 7'
  expect(answer('', 503, 6)).toEqual({ kind: 'retry', afterMs: 3_600_000, failure })
  expect(answer('', 503, 7)).toEqual({ kind: 'hold', reason: 'the check gave the status 503, 7 times' })
  expect(answer('', null, 7)).toEqual({ kind: 'hold', reason: 'the check gave no answer, 7 times' })
  expect(answer('{}', 200, 7)).toEqual({ kind: 'hold', reason: 'the check gave an answer without open, 7 times' })
})

test('the reason why there is no answer is named', () => {
  const failure = 'gave no answer at attempt 2 of 7: no answer within 10000 ms'
  expect(answer('', null, 2, 'no answer within 10000 ms')).toEqual({ kind: 'retry', afterMs: 30_000, failure })
  const reason = 'the check gave no answer, 7 times: connection refused'
  expect(answer('', null, 7, 'connection refused')).toEqual({ kind: 'hold', reason })
})

test.each([
  ['all\0 quiet', 'all quiet'],
  ['half \ud83d', 'half \ufffd'],
  [`${'x'.repeat(999)}\u{1f600}`, `${'x'.repeat(999)}\ufffd`],
])('the database can store what a check says: %j', (reason, stored) => {
  expect(answer({ open: true, reason })).toEqual({ kind: 'open', note: stored })
  expect(answer({ open: false, reason })).toEqual({ kind: 'hold', reason: `the check says: ${stored}` })
})

test('nothing but a successful answer with open: true opens a phase', () => {
  const statuses = fc.option(fc.integer({ min: 100, max: 599 }))
  fc.assert(
    fc.property(fc.json(), statuses, fc.integer({ min: 1, max: 20 }), (body, status, attempt) => {
      const opens = decideCheck({ attempt, status, body, error: null }).kind === 'open'
      const parsed = JSON.parse(body) as { open?: unknown } | null
      expect(opens).toBe(status !== null && status >= 200 && status < 300 && parsed?.open === true)
    }),
  )
})
