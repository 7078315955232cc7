import { expect, it } from 'vitest'
import { addMs } from '../../../platform/time/clock.ts'
import type { DeliveryOrder } from '../../delivery-options.ts'
import { BREAKER_FAILURES, type LaneHealth } from '../decide-lane.ts'
import { createLaneOutcomes } from './lane-outcomes.ts'

const now = new Date('2026-11-20T12:00:00Z')
const clock = { now: () => now }
const healthy: LaneHealth = { failures: 0, openUntil: null, failingSince: null }
const outcomesOf = (before = healthy, order: DeliveryOrder | null = null) =>
  createLaneOutcomes(clock, { before, order })

type Added = Parameters<ReturnType<typeof outcomesOf>['add']>[0]

function attemptOf(verdict: Added['verdict'], nextAttempt: Date | null = null): Added {
  return { verdict, askedMs: verdict.kind === 'pause' ? verdict.afterMs : 0, record: { nextAttempt } }
}

const delivered = attemptOf({ kind: 'delivered' })
const retryIn = (afterMs: number) => attemptOf({ kind: 'retry', afterMs }, addMs(now, afterMs))

it('begins with the health of the lane and one request, and has more in flight after each success', () => {
  const before: LaneHealth = { failures: 2, openUntil: null, failingSince: addMs(now, -1) }
  const outcomes = outcomesOf(before)
  expect([outcomes.health(), outcomes.width(), outcomes.hasFailed()]).toEqual([before, 1, false])
  outcomes.add(delivered)
  outcomes.add(delivered)
  expect([outcomes.health(), outcomes.width(), outcomes.hasFailed()]).toEqual([healthy, 3, false])
  outcomes.add(retryIn(5000))
  expect([outcomes.health(), outcomes.width(), outcomes.hasFailed()]).toEqual([
    { failures: 1, openUntil: null, failingSince: now },
    2,
    true,
  ])
})

it('begins with as many requests as the lane might have in flight before', () => {
  expect(createLaneOutcomes(clock, { before: healthy, width: 5, order: null }).width()).toBe(5)
})

it('remembers that the receiver is gone and that a message failed, whatever follows', () => {
  const outcomes = outcomesOf()
  expect(outcomes.isGone()).toBe(false)
  outcomes.add(attemptOf({ kind: 'gone' }))
  outcomes.add(delivered)
  expect([outcomes.isGone(), outcomes.hasFailed()]).toEqual([true, true])
})

it('pauses the whole lane until its message is tried again only if all messages have one order', () => {
  for (const order of [null, 'device'] as const) {
    const outcomes = outcomesOf(healthy, order)
    outcomes.add(retryIn(30_000))
    expect(outcomes.health().openUntil).toBeNull()
  }
  const outcomes = outcomesOf(healthy, 'webhook')
  outcomes.add(retryIn(30_000))
  expect(outcomes.health().openUntil).toEqual(addMs(now, 30_000))
  const broken = outcomesOf({ failures: BREAKER_FAILURES + 10, openUntil: null, failingSince: now }, 'webhook')
  broken.add(retryIn(5000))
  expect(broken.health().openUntil).toEqual(addMs(now, 60_000))
})

it('counts no failure that ends after a change of the webhook, but lets the lane wait for its message', () => {
  const outcomes = outcomesOf()
  outcomes.add(retryIn(5000))
  outcomes.change()
  for (let count = 0; count < BREAKER_FAILURES; count += 1) outcomes.add(retryIn(5000))
  outcomes.add(attemptOf({ kind: 'pause', afterMs: 3600e3 }))
  expect([outcomes.health(), outcomes.hasFailed()]).toEqual([{ failures: 1, openUntil: null, failingSince: now }, true])
  outcomes.add(delivered)
  expect(outcomes.health()).toEqual(healthy)
  const ordered = outcomesOf(healthy, 'webhook')
  ordered.change()
  ordered.add(retryIn(5000))
  expect(ordered.health()).toEqual({ ...healthy, openUntil: addMs(now, 5000) })
})
