import { expect, it } from 'vitest'
import { createLog } from '../../../platform/log.ts'
import type { Context } from '../../../platform/context.ts'
import type { DeliveryOrder } from '../../delivery-options.ts'
import { BREAKER_FAILURES, type LaneHealth } from '../decide-lane.ts'
import type { RateLimit } from '../decide-pace.ts'
import { createFurtherMessages } from './further-messages.ts'
import { createLaneOutcomes } from './lane-outcomes.ts'
import { createLanePace } from './lane-pace.ts'
import type { LaneState } from './lane-state.ts'

const now = new Date('2026-11-20T12:00:00Z')
const clock = { now: () => now }
/** A look-up fails, since there is no database. */
const ctx = { clock, log: createLog('silent') } as unknown as Context

interface Lane extends Partial<LaneHealth> {
  readonly hasAll?: boolean
  readonly order?: DeliveryOrder
  readonly limit?: RateLimit
  readonly count?: number
  readonly bytes?: number
  readonly closing?: boolean
}

function stateOf({ hasAll = false, order, limit, count = 63, bytes = 1, closing = false, ...health }: Lane): LaneState {
  const before: LaneHealth = { failures: 0, openUntil: null, failingSince: null, ...health }
  const last = { dueAt: now, id: '00000000-0000-7000-8000-000000000000' }
  return {
    lane: { ...before, hasAll, last },
    order: order ?? null,
    waiting: { count: () => count, bytes: () => bytes },
    outcomes: createLaneOutcomes(clock, { before, order: order ?? null }),
    pace: createLanePace(clock, { limit: limit ?? null, from: null }),
    closing,
  } as unknown as LaneState
}

type Added = Parameters<LaneState['outcomes']['add']>[0]

const failed: Added = { verdict: { kind: 'retry', afterMs: 5000 }, askedMs: 0, record: { nextAttempt: now } }
const delivered: Added = { verdict: { kind: 'delivered' }, askedMs: 0, record: { nextAttempt: null } }

/** @param attempts Those that the lane has made before it looks. */
function looksUp(lane: Lane, attempts: readonly Added[] = []): boolean {
  const state = stateOf(lane)
  const further = createFurtherMessages(ctx, state, () => {})
  for (const attempt of attempts) state.outcomes.add(attempt)
  further.check()
  return further.isPending()
}

it('looks up messages behind those of the claim when few of them are left in memory', () => {
  expect(looksUp({})).toBe(true)
  expect(looksUp({ count: 64 })).toBe(false)
  expect([looksUp({ bytes: 256 * 1024 - 1 }), looksUp({ bytes: 256 * 1024 })]).toEqual([true, false])
  expect([looksUp({ hasAll: true }), looksUp({ closing: true })]).toEqual([false, false])
})

it('looks up none for a webhook with an order or a rate limit, and none after a probe', () => {
  expect([looksUp({ order: 'device' }), looksUp({ order: 'webhook' })]).toEqual([false, false])
  expect(looksUp({ limit: { messages: 10_000, periodMs: 1000 } })).toBe(false)
  expect(looksUp({ failures: BREAKER_FAILURES }, [delivered])).toBe(false)
})

it('looks up none after a failed attempt, of this lease or of one before it without a success since', () => {
  expect([looksUp({ failures: 1 }), looksUp({ failures: 1 }, [delivered])]).toEqual([false, true])
  expect([looksUp({}, [failed]), looksUp({}, [failed, delivered])]).toEqual([false, false])
})

it('lets the lane go on after a look-up that failed, and makes no further one', async () => {
  const further = await new Promise<ReturnType<typeof createFurtherMessages>>((resolve) => {
    const created = createFurtherMessages(ctx, stateOf({}), () => resolve(created))
    created.check()
  })
  expect(further.isPending()).toBe(false)
  further.check()
  expect(further.isPending()).toBe(false)
})
