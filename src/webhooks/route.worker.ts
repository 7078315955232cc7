import { uuidv7 } from 'uuidv7'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/db.ts'
import { type Poller, startPoller } from '../platform/poller.ts'
import { wakeAfterCommit } from '../platform/wakes.ts'
import { planMessages } from './plan-messages.ts'
import { insertMessages } from './store.ts'
import { addToLanes, lockLanes } from './store-lanes.ts'
import { findNextRipe, lockSubscribers, takeRipeEvents, tryLockRouter } from './store-route.ts'

const INTERVAL_MS = 500
/** Wakes come with every commit: this many milliseconds' worth of them share a round. */
const MIN_GAP_MS = 5
const MAX_EVENTS = 1000

export function startRouteWorker(ctx: Context): Poller {
  return startPoller({
    name: 'webhook-route',
    ctx,
    wake: 'outbox',
    intervalMs: INTERVAL_MS,
    minGapMs: MIN_GAP_MS,
    work: () => routeEvents(ctx),
  })
}

/**
 * Turns events of the outbox into messages of the webhooks that listen at this moment. Events and
 * messages change in one transaction: an event is in the one place or in the others.
 *
 * @returns True when there may be more to route now, or when the next event will be ripe.
 */
export async function routeEvents(ctx: Context): Promise<boolean | Date | null> {
  const now = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    if (!(await tryLockRouter(tx))) return null
    const events = await takeRipeEvents(tx, { now, limit: MAX_EVENTS })
    if (events.length > 0) {
      const subscribers = await lockSubscribers(tx, [...new Set(events.map(({ orgId }) => orgId))])
      const messages = planMessages(events, subscribers, uuidv7)
      if (messages.length > 0) {
        await lockLanes(tx, messages)
        await insertMessages(tx, messages, now)
        await addToLanes(tx, messages, now)
        wakeAfterCommit(tx, 'deliveries')
      }
    }
    return events.length === MAX_EVENTS ? true : findNextRipe(tx)
  })
}
