import { expect, it } from 'vitest'
import { addMs } from '../../platform/time/clock.ts'
import { BREAKER_FAILURES } from '../lanes/decide-lane.ts'
import { OVERFLOWING_MS, decideState, openUntilOf } from './decide-state.ts'

const now = new Date('2026-11-23T12:00:00Z')
const later = addMs(now, 1000)
const signs = {
  enabled: true,
  disabledWhy: null,
  topics: 'sent' as const,
  isLimited: false,
  pending: 0,
  isPendingExact: true,
  parked: 0,
  failures: 0,
  openUntil: null,
  lastError: null,
  unfetchedSince: null,
  overflowedAt: null,
}

it('is healthy while no failure counts, whatever waits', () => {
  expect(decideState({ ...signs, pending: 9, lastError: 'answered 500' }, now)).toEqual({
    state: 'healthy',
    reason: null,
  })
})

it('says that a webhook without topics never gets a message, unless something else is wrong with it', () => {
  const without = { ...signs, topics: 'none' as const }
  expect(decideState(without, now)).toEqual({
    state: 'idle',
    reason: 'The webhook has no topics, so it never gets a message except test messages',
  })
  expect(decideState({ ...signs, topics: 'unsent' }, now)).toEqual({
    state: 'idle',
    reason: 'None of its topics is sent yet, so the webhook never gets a message except test messages',
  })
  expect(decideState({ ...without, isLimited: true }, now).state).toBe('idle')
  expect(decideState({ ...without, failures: 1 }, now).state).toBe('failing')
  expect(decideState({ ...without, enabled: false }, now).state).toBe('disabled')
})

it('says that messages were dropped within the last hour, unless something else is wrong', () => {
  const dropped = { ...signs, overflowedAt: addMs(now, -OVERFLOWING_MS) }
  const reason =
    'Messages were dropped within the last hour, because too many waited for the webhook or its organization'
  expect(decideState(dropped, now)).toEqual({ state: 'overflowing', reason })
  expect(decideState({ ...dropped, topics: 'none' }, now).state).toBe('overflowing')
  expect(decideState(dropped, addMs(now, 1)).state).toBe('healthy')
  expect(decideState({ ...dropped, failures: 1 }, now).state).toBe('failing')
  expect(decideState({ ...dropped, enabled: false }, now).state).toBe('disabled')
})

it('says how often the receiver failed, what waits and why', () => {
  expect(decideState({ ...signs, failures: 1, pending: 1, lastError: 'answered 500' }, now)).toEqual({
    state: 'failing',
    reason: 'The last attempt failed, and 1 message waits: answered 500',
  })
  const many = decideState({ ...signs, failures: 7, pending: 1001, openUntil: later }, now)
  expect(many.reason).toBe('The last 7 attempts failed, and 1001 messages wait')
  const sending = decideState({ ...signs, failures: 1, pending: 1001, isPendingExact: false }, now)
  expect(sending.reason).toBe('The last attempt failed, and about 1001 messages wait')
  expect(decideState({ ...signs, failures: 7, pending: 3, openUntil: later }, now)).toEqual({
    state: 'paused',
    reason: 'The last 7 attempts failed, and 3 messages wait',
  })
})

it('says since when nobody fetches its messages, also while others are dropped', () => {
  const unfetched = { ...signs, pending: 3, unfetchedSince: new Date('2026-11-20T12:00:30Z'), overflowedAt: now }
  expect(decideState(unfetched, now)).toEqual({
    state: 'failing',
    reason: 'The receiver has acknowledged no message since 2026-11-20T12:00:30.000Z, and 3 messages wait',
  })
  expect(decideState({ ...unfetched, enabled: false }, now).state).toBe('disabled')
})

it('says how many messages can be replayed', () => {
  const reasonOf = (parked: number) => decideState({ ...signs, enabled: false, pending: 2, parked }, now).reason
  expect(reasonOf(1)).toBe('The webhook is disabled, and 2 messages wait (1 undelivered one can be replayed)')
  expect(reasonOf(3)).toBe('The webhook is disabled, and 2 messages wait (3 undelivered ones can be replayed)')
  // The count ends there.
  expect(reasonOf(10_000)).toContain('(at least 10000 undelivered ones can be replayed)')
  expect(decideState({ ...signs, parked: 3 }, now).reason).toBeNull()
})

it('says that the receiver has asked for a pause', () => {
  const reason = 'The receiver has requested a pause, and 2 messages wait'
  expect(decideState({ ...signs, pending: 2, openUntil: later }, now)).toEqual({ state: 'paused', reason })
})

it('is disabled first of all, and says why', () => {
  expect(decideState({ ...signs, enabled: false, failures: 7, pending: 3 }, now)).toEqual({
    state: 'disabled',
    reason: 'The webhook is disabled, and 3 messages wait',
  })
  const reasons = (['request', 'gone', 'failing'] as const).map(
    (disabledWhy) => decideState({ ...signs, enabled: false, disabledWhy }, now).reason,
  )
  expect(reasons).toEqual([
    'An administrator has disabled the webhook, and 0 messages wait',
    'The webhook is disabled, because its receiver answered 410 Gone, and 0 messages wait',
    'The webhook is disabled, because its receiver has failed for 72 hours, and 0 messages wait',
  ])
})

it('is no longer paused when the pause that the receiver asked for has passed', () => {
  const passed = { ...signs, openUntil: now }
  expect(decideState(passed, now)).toEqual({ state: 'healthy', reason: null })
  expect(decideState({ ...passed, failures: 2, lastError: 'answered 500' }, now)).toEqual({
    state: 'failing',
    reason: 'The last 2 attempts failed, and 0 messages wait: answered 500',
  })
  expect(openUntilOf(passed, now)).toBeNull()
})

it('stays paused after the pause of an open breaker, until a probe succeeds', () => {
  const open = { ...signs, failures: BREAKER_FAILURES, openUntil: now }
  expect(decideState(open, later).state).toBe('paused')
  expect(openUntilOf(open, later)).toEqual(now)
})

it('says that the rate limit delays messages, and only while some wait', () => {
  const limited = { ...signs, isLimited: true, openUntil: later }
  const reason = 'The rate limit delays messages, and 2 messages wait'
  expect(decideState({ ...limited, pending: 2 }, now)).toEqual({ state: 'paused', reason })
  expect(decideState(limited, now)).toEqual({ state: 'healthy', reason: null })
})

it('distinguishes a pause that the receiver of a limited webhook has requested', () => {
  const limited = { ...signs, isLimited: true, pending: 2 }
  const reason = 'The receiver has requested a pause, and 2 messages wait'
  expect(decideState({ ...limited, openUntil: later, lastError: 'answered 429' }, now)).toEqual({
    state: 'paused',
    reason: `${reason}: answered 429`,
  })
  // No rate limit lasts so long, and the answer was too long ago to be known.
  expect(decideState({ ...limited, openUntil: addMs(now, 60_001) }, now)).toEqual({ state: 'paused', reason })
})

it.each([false, true])('names failures as the reason why all messages wait for one, with a limit: %j', (isLimited) => {
  const failed = { ...signs, isLimited, pending: 4, failures: 2, openUntil: later, lastError: 'answered 500' }
  expect(decideState(failed, now)).toEqual({
    state: 'paused',
    reason: 'The last 2 attempts failed, and 4 messages wait: answered 500',
  })
})
