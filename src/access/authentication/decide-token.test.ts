import { describe, expect, it } from 'vitest'
import { idleSince, isIdleTooLong } from './decide-token.ts'

const DAYS_90_MS = 90 * 24 * 3600e3
const createdAt = new Date('2026-01-01T00:00:00Z')
const lastUsedAt = new Date('2026-02-01T00:00:00Z')
const after = (date: Date, ms: number) => new Date(date.getTime() + ms)

describe('isIdleTooLong', () => {
  it('accepts 90 days, and not a millisecond more', () => {
    const token = { createdAt, lastUsedAt }
    expect(isIdleTooLong(token, after(lastUsedAt, DAYS_90_MS))).toBe(false)
    expect(isIdleTooLong(token, after(lastUsedAt, DAYS_90_MS + 1))).toBe(true)
  })

  it('counts from creation if the token was never used', () => {
    const token = { createdAt, lastUsedAt: null }
    expect(isIdleTooLong(token, after(createdAt, DAYS_90_MS))).toBe(false)
    expect(isIdleTooLong(token, after(createdAt, DAYS_90_MS + 1))).toBe(true)
  })

  it('agrees with the limit of the sweep', () => {
    const now = after(createdAt, DAYS_90_MS)
    expect(idleSince(now)).toEqual(createdAt)
  })
})
