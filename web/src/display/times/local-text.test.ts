import { expect, it } from 'vitest'
import { localText } from './local-text.ts'

it('shows the instants of a text on one clock, and leaves the rest', () => {
  const nowMs = Date.UTC(2026, 10, 1)
  const text = 'is 2026-12-01T02:00:00.000Z, but end_time is 2027-01-01T00:30:00Z'
  expect(localText(text, 'America/New_York', nowMs)).toBe(
    'is 30 Nov, 21:00:00 GMT−5, but end_time is 31 Dec, 19:30:00 GMT−5',
  )
  for (const other of ['more than 5 % failed', 'on 2026-12-01', 'at 2026-12-01T02:00', 'at 2026-13-41T99:00:00Z'])
    expect(localText(other, 'Asia/Tokyo', nowMs)).toBe(other)
})
