import { expect, it } from 'vitest'
import {
  type Overview,
  goalText,
  titleOf,
  headingOf,
  noteOf,
  parseListSearch,
  sharesOf,
  standingOf,
  waitingFirst,
} from './overview.ts'
import { stateOf } from './upgrade.ts'

it.each([
  [{ target_version: '3.2.0' }, '3.2.0'],
  [{ target_version: '' }, 'versions by model'],
  [{ versions: { mxagent: 'current', tunterm: '2.0.0', mxdas: 'latest' } }, 'tunterm 2.0.0, mxdas latest'],
  [{ versions: { mxagent: 'current' } }, 'present versions'],
  [{ versions: { mxagent: 'current' }, distro: 'trixie' }, 'distribution trixie'],
  [{ versions: {}, distro: 'next' }, 'the next distribution'],
])('names what %j installs: %s', (goal, text) => {
  expect(goalText(goal)).toBe(text)
})

it('names what a running upgrade waits for, unless it is being stopped', () => {
  const held = { by: 'user', reason: 'paused by a@example.com', timestamp: 30 } as const
  const stateIn = (upgrade: Parameters<typeof standingOf>[0]) => stateOf(standingOf(upgrade)).text
  expect(stateIn({ status: 'running' })).toBe('Running')
  expect(stateIn({ status: 'running', held })).toBe('Paused')
  expect(stateIn({ status: 'running', held: { ...held, by: 'gate' } })).toBe('Waiting')
  expect(stateIn({ status: 'running', held, stop_reason: 'cancelled by a@example.com' })).toBe('Stopping')
  expect(stateIn({ status: 'cancelled', stop_reason: 'cancelled by a@example.com' })).toBe('Cancelled')
})

it('says why an upgrade waits or was stopped', () => {
  const held = { by: 'gate', reason: 'phase 1 ended and waits for an approval', timestamp: 30 } as const
  const words = [
    noteOf({ status: 'running', held }),
    noteOf({ status: 'failed', held, stop_reason: 'more than 5 % of 6 devices failed' }),
    noteOf({ status: 'completed', held }),
    noteOf({ status: 'running' }),
  ]
  const failed = 'More than 5 % of 6 devices failed'
  expect(words).toEqual(['Phase 1 ended and waits for an approval', failed, undefined, undefined])
  const ended = { status: 'cancelled', stop_reason: 'ended at its end_time, 2025-12-01T02:00:00.000Z' } as const
  expect(noteOf(ended, 'Asia/Tokyo')).toBe('Ended at its end_time, 01 Dec 2025, 11:00:00 GMT+9')
})

it('shows every device in its bar once', () => {
  const counts = { queued: 1, upgrading: 2, success: 4, failed: 8, skipped: 16, cancelled: 32 }
  const shares = sharesOf(counts satisfies Omit<Overview['counts'], 'total'>)
  expect(shares.reduce((sum, { count }) => sum + count, 0)).toBe(63)
})

it('filters by a kind that there is', () => {
  expect(parseListSearch({ kind: 'ssr', page: 2 })).toEqual({ kind: 'ssr' })
  expect(parseListSearch({ kind: 'printer', held: 'no' })).toEqual({})
  expect(parseListSearch({ held: true })).toEqual({ held: true })
})

it('shows upgrades that wait first, and each once', () => {
  const shown = waitingFirst([{ id: 'old' }, { id: 'new' }], [{ id: 'newest' }, { id: 'new' }])
  expect(shown.map(({ id }) => id)).toEqual(['old', 'new', 'newest'])
})

it('names an upgrade by its name and its goal', () => {
  expect(titleOf({ target_version: '3.2.0' })).toBe('To 3.2.0')
  expect(titleOf({ name: 'Friday', target_version: '3.2.0' })).toBe('Friday, to 3.2.0')
  expect(headingOf({}, { target_version: '3.2.0' })).toBe('Upgrade to 3.2.0')
  expect(headingOf({ name: 'Friday' }, { target_version: '3.2.0' })).toBe('Friday, to 3.2.0')
})
