import { uuidv7 } from '../../platform/uuidv7.ts'
import { type SetAsideEvent, deleteEvents } from '../../events/store-outbox.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { inTx, inUnflushedTx, onQueues } from '../../platform/database/db.ts'
import type { DirectDelivery } from '../delivery/direct-delivery.ts'
import { countCaused } from './count-caused.ts'
import { type Steps, inTurns } from '../../platform/queues/next-turn.ts'
import { createEventFilter } from './event-filter.ts'
import { type RoutedEvent, planMessages } from './planning/plan-messages.ts'
import { MAX_EVENT_BYTES, type RoundPlan, type RoundStep, type WaitingQueue, planRound } from './planning/plan-round.ts'
import { admitMessages } from './admit-messages.ts'
import type { OrgRooms } from './org-rooms.ts'
import { setAsideAndReport } from './set-aside/set-aside-events.ts'
import type { NewMessage } from '../store.ts'
import { listEventTexts } from './store.ts'
import { type DirectLane, routeMessages } from './store-routed.ts'

/** Limits the bytes that one round reads from the outbox, and those that it writes as messages. */
const MAX_BYTES = 4 * 1024 * 1024
/** What the database needs for a message until it is ready to be sent. */
const MESSAGE_MS = 0.1
/** The pause before the next search for the events of an organization that has locked rows. */
const LOCKED_PAUSE_MS = 20

export interface Round {
  readonly now: Date
  readonly maxEvents: number
  /** Increases with each round of the same queues, so that each comes first at times: a large event may need a whole round. */
  readonly turn: number
  readonly direct: DirectDelivery | null
  readonly rooms: OrgRooms
  /** The number of messages that may wait for a webhook. */
  readonly maxPending: number
  readonly charge: (account: string, databaseMs: number) => void
  /** Ids of the events that are being routed; they remain known when the round fails. */
  routing: readonly string[]
}

export interface RoundResult {
  readonly messages: readonly NewMessage[]
  /** The lanes of these messages that the sender has. */
  readonly lanes: readonly DirectLane[]
  /** Events that were too large for a message. */
  readonly oversized: readonly SetAsideEvent[]
  /** Ids of the events that have left the outbox. */
  readonly gone: readonly string[]
  /** False when events were left for the next round. */
  readonly complete: boolean
  /** The time of the next attempt, for events that another transaction has locked; null if there are none. */
  readonly againAt: Date | null
}

const nothing: RoundResult = { messages: [], lanes: [], oversized: [], gone: [], complete: true, againAt: null }

/** Turns waiting events into messages, as many as the limits of a round allow. */
export async function routeFound(ctx: Context, round: Round, waiting: readonly WaitingQueue[]): Promise<RoundResult> {
  if (waiting.length === 0) return nothing
  const plan = planRound(rotate(waiting, round.turn), { bytes: MAX_BYTES, events: round.maxEvents })
  round.routing = plan.steps.map(({ event }) => event.id)
  const oversized = await removeUnroutable(ctx, plan, round.now)
  const routed = plan.steps.length > 0 ? await routeSteps(ctx, plan.steps, round) : nothing
  const gone = [...routed.gone, ...plan.withoutRecipients, ...plan.oversized]
  return { ...routed, oversized, gone, complete: plan.complete }
}

function rotate(items: readonly WaitingQueue[], by: number): readonly WaitingQueue[] {
  const at = by % items.length
  return [...items.slice(at), ...items.slice(0, at)]
}

/** @returns The events that were too large for a message. */
async function removeUnroutable(
  ctx: Context,
  { withoutRecipients, oversized }: RoundPlan,
  now: Date,
): Promise<readonly SetAsideEvent[]> {
  if (withoutRecipients.length === 0 && oversized.length === 0) return []
  const reasonOf = ({ bytes }: { readonly bytes: number }): string =>
    `The event has ${bytes} bytes, a message may have ${MAX_EVENT_BYTES}`
  // An event without subscribers is found again if its deletion is lost.
  if (withoutRecipients.length > 0) await inUnflushedTx(onQueues(ctx), (tx) => deleteEvents(tx, withoutRecipients))
  return oversized.length === 0 ? [] : inTx(ctx, (tx) => setAsideAndReport(tx, oversized, { at: now, reasonOf }))
}

async function routeSteps(ctx: Context, steps: readonly RoundStep[], round: Round): Promise<RoundResult> {
  const { direct, rooms, maxPending, charge } = round
  const events = await readTexts(ctx, steps)
  const planned = planMessages(events, uuidv7)
  const roomOf = await rooms.find(ctx.queueDb, countPerOrg(planned))
  const admitted = admitMessages(planned, (orgId) => roomOf.get(orgId))
  const lease = direct?.lease() ?? null
  const rows = steps.map(({ event: { orgId, id, routedTo: routedBefore }, routedTo }) => ({
    orgId,
    id,
    routedBefore,
    routedTo,
  }))
  // Not when the round began: lanes have accepted events before these since, and may write them as messages.
  const now = ctx.clock.now()
  const options = { at: now, lease, vtimeFloor: direct?.vtimeFloor() ?? 0, maxPending }
  const { direct: lanes, ...written } = await routeMessages(ctx.queueDb, { steps: rows, ...admitted }, options)
  rooms.subtract(countPerOrg(written.inserted))
  const isRouted = ({ orgId }: { readonly orgId: string }): boolean => !written.busyOrgIds.has(orgId)
  for (const [account, messages] of countCaused(events.filter(isRouted))) charge(account, messages * MESSAGE_MS)
  if (written.toClaim) ctx.wakes.wake('deliveries')
  const gone = rows.filter((step) => isRouted(step) && step.routedTo === null).map(({ id }) => id)
  const againAt = rows.every(isRouted) ? null : addMs(now, LOCKED_PAUSE_MS)
  return { ...nothing, messages: written.inserted, lanes, gone, againAt }
}

function countPerOrg(messages: readonly { readonly orgId: string }[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { orgId } of messages) counts.set(orgId, (counts.get(orgId) ?? 0) + 1)
  return counts
}

async function readTexts(ctx: Context, steps: readonly RoundStep[]): Promise<readonly RoutedEvent[]> {
  const long = steps.filter(({ event }) => event.json === null).map(({ event }) => event.id)
  const texts = long.length === 0 ? null : await listEventTexts(ctx.queueDb, long)
  return inTurns(filterEvents(steps, texts))
}

function* filterEvents(
  steps: readonly RoundStep[],
  texts: ReadonlyMap<string, string> | null,
): Steps<readonly RoutedEvent[]> {
  const filter = createEventFilter()
  const events: RoutedEvent[] = []
  for (const { event, recipients } of steps) {
    const { id, orgId, topic, sentTo } = event
    const json = event.json ?? texts?.get(id)
    // The event is missing when its organization is being deleted, or its audit record has been.
    if (json === undefined) continue
    events.push({ id, orgId, topic, json, recipients: yield* filter({ topic, json }, recipients), sentTo })
  }
  return events
}
