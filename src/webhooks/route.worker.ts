import { uuidv7 } from 'uuidv7'
import { systemScopeOf } from '../access/scope.ts'
import { appendSystemEvent } from '../events/append-system.ts'
import {
  type SetAsideEvent,
  deleteEvents,
  setAsideEvents,
  consumeEvents,
  updateProgress,
} from '../events/store-outbox.ts'
import type { Context } from '../platform/context.ts'
import { type Tx, inTx, isPassingError } from '../platform/db.ts'
import { type Poller, startPoller } from '../platform/poller.ts'
import { wakeAfterCommit } from '../platform/wakes.ts'
import type { WebhookCounters } from './counters.ts'
import { type RoutedEvent, planMessages } from './plan-messages.ts'
import { MAX_EVENT_BYTES, type RoundPlan, type RoundStep, planRound } from './plan-round.ts'
import type { DirectDelivery } from './deliver.worker.ts'
import type { NewMessage } from './store.ts'
import { type DirectLane, enqueueMessages } from './store-enqueue.ts'
import { countPerLane } from './store-lanes.ts'
import { type FoundQueues, type QueueKey, findQueues, firstKey, lockProgress, lockSubscribers } from './store-route.ts'

const INTERVAL_MS = 500
/** Every commit of an event wakes the router; wake-ups within this time share a round. */
const MIN_GAP_MS = 5
const MAX_EVENTS = 1000
/** Limits the bytes that one round reads from the outbox, and those that it writes as messages. */
const MAX_BYTES = 4 * 1024 * 1024
const MAX_QUEUES = 200

/** @param direct Sends what has been routed; null if all messages have to be claimed. */
export function startRouteWorker(
  ctx: Context,
  counters: WebhookCounters,
  direct: DirectDelivery | null = null,
): Poller {
  return startPoller({
    name: 'webhook-route',
    ctx,
    wake: 'outbox',
    intervalMs: INTERVAL_MS,
    minGapMs: MIN_GAP_MS,
    work: createRouter(ctx, counters, direct),
  })
}

/**
 * Returns the function that runs one round: it turns events of the outbox into messages for the webhooks
 * that subscribe to them at that moment. An event and its messages change in one transaction. An event that
 * can't be routed is set aside, so that it blocks no other event.
 *
 * The function resolves with true when there may be more to route now, or with the time when the next event
 * will be ripe.
 */
function createRouter(
  ctx: Context,
  counters: WebhookCounters,
  direct: DirectDelivery | null,
): () => Promise<boolean | Date | null> {
  let pass = firstPass
  let rounds = 0

  function report(events: readonly SetAsideEvent[]): void {
    for (const { id, orgId, topic, bytes, setAsideReason: reason } of events) {
      counters.add('events_set_aside')
      ctx.log.error({ eventId: id, orgId, topic, bytes, reason }, 'event not routed to webhooks, set aside')
    }
  }

  async function setAside(id: string, error: unknown): Promise<void> {
    const at = ctx.clock.now()
    const reason = error instanceof Error ? error.message : String(error)
    report(await inTx(ctx, (tx) => setAsideAndReport(tx, [id], { at, reasonOf: () => reason })))
  }

  return async () => {
    let maxEvents = MAX_EVENTS
    for (;;) {
      const round: Round = { pass, now: ctx.clock.now(), maxEvents, turn: (rounds += 1), direct, routing: [] }
      try {
        const result = await routeRound(ctx, round)
        pass = result.pass
        report(result.oversized)
        direct?.take(result.lanes, result.messages)
        return result.next
      } catch (error) {
        direct?.releaseStray()
        const [only, ...others] = round.routing
        if (only === undefined || isPassingError(error)) throw error
        if (others.length === 0) {
          await setAside(only, error)
          return true
        }
        // One of the events is at fault: the next round tries half of them, until the faulty one is alone.
        maxEvents = Math.floor(round.routing.length / 2)
      }
    }
  }
}

/** A pass covers all queues, one page per round. */
interface Pass {
  readonly after: QueueKey
  /** True when a page of this pass still had events to route after its round. */
  readonly hasMore: boolean
  /** When the next queue in the pages so far will be ripe. */
  readonly ripeAt: Date | null
}

const firstPass: Pass = { after: firstKey, hasMore: false, ripeAt: null }

interface Round {
  readonly pass: Pass
  readonly now: Date
  readonly maxEvents: number
  /** Increases with each round, so that each queue comes first at times: a large event may need a whole round. */
  readonly turn: number
  readonly direct: DirectDelivery | null
  /** Ids of the events that are being routed; they remain known when the round fails. */
  routing: readonly string[]
}

interface Routed {
  readonly messages: readonly NewMessage[]
  /** Those of their lanes that the sender holds. */
  readonly lanes: readonly DirectLane[]
}

interface RoundResult extends Routed {
  readonly pass: Pass
  readonly next: boolean | Date | null
  readonly oversized: readonly SetAsideEvent[]
}

async function routeRound(ctx: Context, round: Round): Promise<RoundResult> {
  const { pass, now } = round
  const found = await findQueues(ctx.db, { after: pass.after, limit: MAX_QUEUES, now, events: MAX_EVENTS })
  const { complete, ...routed } =
    found.waiting.length === 0 ? nothing : await inTx(ctx, (tx) => routeFound(tx, round, found))
  const hasMore = pass.hasMore || !complete || found.hasMore
  const unripe = found.queues.filter(({ ripeAt }) => ripeAt > now)
  const ripeAt = earliest([pass.ripeAt, ...unripe.map((queue) => queue.ripeAt)])
  const last = found.queues.length < MAX_QUEUES ? undefined : found.queues.at(-1)
  if (last === undefined) return { ...routed, pass: firstPass, next: hasMore ? true : ripeAt }
  return { ...routed, pass: { after: last, hasMore, ripeAt }, next: true }
}

const nothing = { complete: true, oversized: [], messages: [], lanes: [] } as const

async function routeFound(
  tx: Tx,
  round: Round,
  { waiting }: FoundQueues,
): Promise<Omit<RoundResult, 'pass' | 'next'> & { readonly complete: boolean }> {
  const orgIds = new Set(waiting.flatMap(([first]) => (first === undefined ? [] : [first.orgId])))
  const subscribers = await lockSubscribers(tx, [...orgIds])
  const plan = planRound(rotate(waiting, round.turn), subscribers, { bytes: MAX_BYTES, events: round.maxEvents })
  round.routing = plan.steps.map(({ event }) => event.id)
  if (plan.unheard.length > 0) await deleteEvents(tx, plan.unheard)
  const routed = plan.steps.length > 0 ? await routeSteps(tx, plan.steps, round) : nothing
  return { ...routed, complete: plan.complete, oversized: await setAsideOversized(tx, plan, round.now) }
}

function rotate<T>(items: readonly T[], by: number): readonly T[] {
  const at = items.length === 0 ? 0 : by % items.length
  return [...items.slice(at), ...items.slice(0, at)]
}

function earliest(dates: readonly (Date | null)[]): Date | null {
  return dates.reduce((first, date) => (date !== null && (first === null || date < first) ? date : first), null)
}

/** @returns The events that were too large for a message. */
async function setAsideOversized(tx: Tx, { oversized }: RoundPlan, now: Date): Promise<readonly SetAsideEvent[]> {
  if (oversized.length === 0) return []
  const reasonOf = ({ bytes }: { readonly bytes: number }): string =>
    `The event has ${bytes} bytes, a message may have ${MAX_EVENT_BYTES}`
  return setAsideAndReport(tx, oversized, { at: now, reasonOf })
}

/**
 * Sets events aside. The organization or site of an event learns of it once a day for each topic; the operator sees
 * each event. It names no webhook, because all that subscribe to the event lack it.
 */
async function setAsideAndReport(
  tx: Tx,
  ids: readonly string[],
  options: Parameters<typeof setAsideEvents>[2],
): Promise<SetAsideEvent[]> {
  const events = await setAsideEvents(tx, ids, options)
  const { at } = options
  for (const { orgId, siteId, topic } of events) {
    const day = at.toISOString().slice(0, 10)
    const once = siteId === null ? `${topic} ${day}` : `${topic} ${siteId} ${day}`
    const text = `An event of the topic ${topic} could not be sent to webhooks; the operator can send it later`
    const event = { type: 'WEBHOOK_EVENT_SET_ASIDE', siteId, once, text } as const
    await appendSystemEvent(tx, systemScopeOf('webhooks', { orgId, siteId }), event, at)
  }
  return events
}

async function routeSteps(tx: Tx, planned: readonly RoundStep[], { now, direct }: Round): Promise<Routed> {
  // Events that this round or an earlier one routes to some of their webhooks only.
  const inParts = planned.filter(({ event, routedTo }) => event.routedTo !== null || routedTo !== null)
  const upToDate = await lockProgress(
    tx,
    inParts.map(({ event }) => event),
  )
  const steps = planned.filter((step) => !inParts.includes(step) || upToDate.has(step.event.id))
  const done = steps.filter(({ routedTo }) => routedTo === null).map(({ event }) => event.id)
  const begun = steps.flatMap(({ event: { id }, routedTo }) => (routedTo === null ? [] : [{ id, routedTo }]))
  const texts = new Map([
    ...(done.length === 0 ? [] : await consumeEvents(tx, done)),
    ...(begun.length === 0 ? [] : await updateProgress(tx, begun)),
  ])
  const routed = steps.flatMap(({ event: { id, orgId, topic }, hearers }): RoutedEvent[] => {
    const json = texts.get(id)
    // The event is missing when its organization is being deleted.
    return json === undefined ? [] : [{ orgId, topic, json, hearers }]
  })
  const messages = planMessages(routed, uuidv7)
  if (messages.length === 0) return nothing
  const lease = direct?.lease() ?? null
  const lanes = await enqueueMessages(tx, messages, { at: now, lease, vtimeFloor: direct?.vtimeFloor() ?? 0 })
  if (lanes.length < countPerLane(messages).length) wakeAfterCommit(tx, 'deliveries')
  return { messages, lanes }
}
