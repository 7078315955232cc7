import { expect, it } from 'vitest'
import { type Hold, type Upgrade, firstStartOf, standingOf, stateOf, stopReasonOf } from './upgrade.ts'

const targets = { upgraded: [], failed: [] }
const upgradeOf = (...parts: readonly object[]) =>
  ({ upgrades: parts.map((part) => ({ upgrade: { targets, ...part } })) }) as unknown as Upgrade
const stateIn = (...parts: readonly object[]) => stateOf(standingOf(upgradeOf(...parts)))
const holdBy = (by: Hold['by']): Hold => ({ by, reason: 'too many failures', timestamp: 30 })

it.each([
  [['completed', 'completed'], 'Completed'],
  [['completed', 'cancelled'], 'Cancelled'],
  [['cancelled', 'failed', 'completed'], 'Failed'],
  [['failed', 'upgrading'], 'Running'],
  [['queued', 'queued'], 'Queued'],
  [['queued', 'completed'], 'Queued'],
  [[], 'Completed'],
])('names the state of an upgrade whose sites are %j: %s', (statuses, text) => {
  expect(stateIn(...statuses.map((status) => ({ status }))).text).toBe(text)
})

it('counts an upgrade as running between two sites', () => {
  const done = { status: 'completed', targets: { ...targets, upgraded: ['a'] } }
  expect(stateIn(done, { status: 'queued' }).text).toBe('Running')
})

it('names what a running upgrade waits for, unless it is being stopped', () => {
  const held = (by: Hold['by']) => ({ status: 'upgrading', held: holdBy(by) })
  expect(stateIn(held('gate'))).toEqual({ tone: 'warn', text: 'Waiting' })
  expect(stateIn(held('user')).text).toBe('Paused')
  expect(stateIn({ ...held('user'), stop_reason: 'cancelled by a@example.com' })).toEqual({
    tone: 'warn',
    text: 'Stopping',
  })
  expect(stateIn({ ...held('user'), status: 'cancelled' }).text).toBe('Cancelled')
})

it('ignores why other sites were stopped while the failed devices of one are retried', () => {
  const stopped = { status: 'failed', stop_reason: 'too many failures' }
  expect(stopReasonOf(upgradeOf(stopped, { status: 'upgrading' }))).toBeNull()
  expect(stopReasonOf(upgradeOf(stopped, { status: 'completed' }))).toBe('too many failures')
  expect(stopReasonOf(upgradeOf({ status: 'completed' }, { status: 'upgrading', stop_reason: 'cancelled' }))).toBe(
    'cancelled',
  )
})

it('knows when the first site starts', () => {
  expect(firstStartOf(upgradeOf({ start_time: 20 }, { start_time: 10 }))).toBe(10)
  expect(firstStartOf(upgradeOf())).toBeNull()
})
