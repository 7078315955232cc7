import { expect, it } from 'vitest'
import { decideUnfetched } from './decide-unfetched.ts'

const HOUR_MS = 3600e3
const now = new Date('2026-12-01T12:00:00Z')
const hoursAgo = (hours: number) => new Date(now.getTime() - hours * HOUR_MS)
const nowMs = 100 * HOUR_MS

it('fails after a day, if the service ran all the time', () => {
  const time = { now, nowMs, listeningSinceMs: 0 }
  expect(decideUnfetched({ since: hoursAgo(24), sinceMs: null }, time)).toEqual({ isFailing: true, recordMs: null })
  const recordMs = nowMs - 23 * HOUR_MS
  expect(decideUnfetched({ since: hoursAgo(23), sinceMs: null }, time)).toEqual({ isFailing: false, recordMs })
})

it('counts from the start of the service if nothing was recorded before', () => {
  const time = { now, nowMs, listeningSinceMs: nowMs - HOUR_MS }
  const signs = { since: hoursAgo(50), sinceMs: null }
  expect(decideUnfetched(signs, time)).toEqual({ isFailing: false, recordMs: time.listeningSinceMs })
})

it('counts the service time of all runs since it was recorded, and records it once', () => {
  const time = { now, nowMs, listeningSinceMs: nowMs }
  const signs = { since: hoursAgo(50), sinceMs: nowMs - 24 * HOUR_MS }
  expect(decideUnfetched(signs, time)).toEqual({ isFailing: true, recordMs: null })
  const later = { ...signs, sinceMs: signs.sinceMs + 1 }
  expect(decideUnfetched(later, time)).toEqual({ isFailing: false, recordMs: null })
})
