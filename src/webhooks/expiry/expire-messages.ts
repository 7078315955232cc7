import { systemScopeOf } from '../../access/scope.ts'
import { appendSystemEvent } from '../../events/append-system.ts'
import { shareOrgIfAny } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { addMs } from '../../platform/time/clock.ts'
import { pause } from '../../platform/time/pause.ts'
import { eachInTurn } from '../../platform/queues/each-in-turn.ts'
import { shareWebhooks } from '../delivery/store-unrouted.ts'
import { type LaneKey, lockLanes, recountLanes } from '../lanes/store.ts'
import { parkMessagesOlderThan } from '../replays/store-parked.ts'
import { consumeUnreported, listLanesToExpire, subtractExpired } from './store.ts'

/** How long a message waits for a receiver that is down, or for a disabled webhook to be enabled again. */
const KEPT_MS = 7 * 24 * 3600e3

/**
 * Parks messages that have waited too long. An open breaker sends fewer messages than may arrive, so without
 * this the messages for a dead receiver would grow without limit.
 *
 * @param signal Ends the run after the portion that is being parked; the next run continues.
 * @param rest Pauses after each portion for as long as it took: the router tries again and again to get the lane, and does not wait for it.
 * @returns How many were parked.
 * @throws Error if those of some lanes could not be; all others are parked then.
 */
export async function expireMessages(ctx: Context, signal?: AbortSignal, rest = pause): Promise<number> {
  const before = addMs(ctx.clock.now(), -KEPT_MS)
  let parked = 0
  const expire = async (lane: LaneKey): Promise<void> => {
    const ofLane = await expireLane(ctx, lane, { before, signal, rest })
    if (ofLane > 0) ctx.log.warn({ ...lane, messages: ofLane }, 'webhook messages parked that nobody took for a week')
    parked += ofLane
  }
  await eachInTurn(await listLanesToExpire(ctx.db, before), expire, (error, lane) =>
    ctx.log.error({ err: error, ...lane }, 'old webhook messages could not be parked; trying again later'),
  )
  return parked
}

interface LaneExpiry {
  readonly before: Date
  readonly signal: AbortSignal | undefined
  readonly rest: typeof pause
}

/** Parks the old messages of a lane, one portion per transaction. @returns How many there were. */
async function expireLane(ctx: Context, lane: LaneKey, { before, signal, rest }: LaneExpiry): Promise<number> {
  // All have the same time, so that a replay returns them in the order of their ids.
  const at = ctx.clock.now()
  const signals = signal === undefined ? [] : [signal]
  const mayGoOn = (): boolean => signal?.aborted !== true
  let parked = 0
  let from: Date | null = null
  while (mayGoOn()) {
    const beganMs = performance.now()
    const portion: Portion = { before, at, from }
    const moved = await inTx(ctx, (tx) => expirePortion(tx, lane, portion))
    if (moved === null) break
    parked += moved.parked
    from = moved.lastDueAt
    await rest(performance.now() - beganMs, ...signals)
  }
  return parked
}

interface Portion {
  readonly before: Date
  readonly at: Date
  /** All messages that are due before it are parked, or stay. */
  readonly from: Date | null
}

/** @returns Null if no old message is left; then the lane is recounted, and the parked ones are reported. */
async function expirePortion(
  tx: Tx,
  lane: LaneKey,
  { before, at, from }: Portion,
): Promise<{ readonly parked: number; readonly lastDueAt: Date } | null> {
  // Parked messages refer to the organization and are deleted with the webhook. A deletion locks both before the lane.
  if (!(await shareOrgIfAny(tx, lane))) return null
  if ((await shareWebhooks(tx, [lane])).size === 0) return null
  await lockLanes(tx, [lane])
  const { parked, deleted, lastDueAt } = await parkMessagesOlderThan(tx, lane, { before, at, from })
  if (lastDueAt !== null) {
    // Those that stay are due after these, or were created later.
    const dueFrom = lastDueAt < before ? lastDueAt : before
    await subtractExpired(tx, lane, { parked, deleted, dueFrom })
    return { parked, lastDueAt }
  }
  await recountLanes(tx, [lane])
  await reportParked(tx, lane, at)
  return null
}

async function reportParked(tx: Tx, lane: LaneKey, at: Date): Promise<void> {
  const unreported = await consumeUnreported(tx, lane)
  if (unreported === undefined) return
  const { orgId, webhookId } = lane
  const { count, siteId, name } = unreported
  const [messages, have] = count === 1 ? ['1 message', 'has'] : [`${count} messages`, 'have']
  const text = `${messages} of webhook "${name}" ${have} not been taken by its receiver for a week, and can be replayed for another one`
  const details = { count, webhook_id: webhookId }
  const event = { type: 'WEBHOOK_MESSAGES_DROPPED', siteId, text, details } as const
  await appendSystemEvent(tx, systemScopeOf('webhooks', { orgId, siteId }), event, at)
}
