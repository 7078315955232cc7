import { deleteEventsSetAsideBefore } from '../../events/store-outbox.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { addMs } from '../../platform/time/clock.ts'
import { deleteMessagesParkedBefore } from '../replays/store-parked.ts'

/** How long a parked message can be replayed. */
const PARKED_MS = 7 * 24 * 3600e3
/** How long events that could not be routed are stored for the operator. */
const SET_ASIDE_KEPT_MS = 30 * 24 * 3600e3
/** The rows of one transaction. */
const PORTION = 2000

/** @param signal Ends the run after a portion. @returns The number of deleted messages. */
export function expireParkedMessages(ctx: Context, signal?: AbortSignal): Promise<number> {
  const before = addMs(ctx.clock.now(), -PARKED_MS)
  return deleteInPortions(ctx, signal, (tx) => deleteMessagesParkedBefore(tx, { before, limit: PORTION }))
}

/** @param signal Ends the run after a portion. @returns The number of deleted events. */
export function expireSetAsideEvents(ctx: Context, signal?: AbortSignal): Promise<number> {
  const before = addMs(ctx.clock.now(), -SET_ASIDE_KEPT_MS)
  return deleteInPortions(ctx, signal, (tx) => deleteEventsSetAsideBefore(tx, { before, limit: PORTION }))
}

async function deleteInPortions(
  ctx: Context,
  signal: AbortSignal | undefined,
  deletePortion: (tx: Tx) => Promise<number>,
): Promise<number> {
  const mayGoOn = (): boolean => signal?.aborted !== true
  let deleted = 0
  for (let portion = PORTION; portion === PORTION && mayGoOn(); deleted += portion)
    portion = await inTx(ctx, deletePortion)
  return deleted
}
