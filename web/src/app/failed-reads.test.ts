import { expect, it } from 'vitest'
import { Problem } from '../api/problem.ts'
import { failedReadText } from './failed-reads.ts'

const rows: readonly string[] = []
const query = (error: Error | null, data?: unknown, isActive = true) => ({
  state: { data, error },
  isActive: () => isActive,
})

it.each([
  ['old rows after a failure', query(new Problem(500, 'The server answered 500.'), rows), 'The server answered 500.'],
  ['old rows after a refusal', query(new Problem(403, 'No permission'), rows), 'No permission.'],
  ['nothing after a failure', query(new Problem(429, 'Too many')), 'Too many.'],
  ['a refusal, which the page shows', query(new Problem(403, 'No permission')), null],
  ['something that was deleted', query(new Problem(404, 'Not found'), rows), null],
  ['a missing session', query(new Problem(401, 'No session'), rows), null],
  ['what another page has read', query(new Problem(500, 'Failed'), rows, false), null],
  ['old rows after a defect', query(new Error('defect'), rows), 'The page has met a defect.'],
  ['rows', query(null, rows), null],
])('knows what to say of %s', (_what, failed, text) => {
  expect(failedReadText([query(null, rows), failed])).toBe(text)
})
