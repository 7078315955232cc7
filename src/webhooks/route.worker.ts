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
import { insertMessages } from './store.ts'
import { updatePending, lockLanes } from './store-lanes.ts'
import {
  type QueueKey,
  firstKey,
  listQueues,
  listWaitingEvents,
  lockSubscribers,
  tryLockRouter,
} from './store-route.ts'

const INTERVAL_MS = 500
/** Every commit of an event wakes the router; wake-ups within this time share a round. */
const MIN_GAP_MS = 5
const MAX_EVENTS = 1000
/** Limits the bytes that one round reads from the outbox, and those that it writes as messages. */
const MAX_BYTES = 4 * 1024 * 1024
const MAX_QUEUES = 200

export function startRouteWorker(ctx: Context, counters: WebhookCounters): Poller {
  return startPoller({
    name: 'webhook-route',
    ctx,
    wake: 'outbox',
    intervalMs: INTERVAL_MS,
    minGapMs: MIN_GAP_MS,
    work: createRouter(ctx, counters),
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
function createRouter(ctx: Context, counters: WebhookCounters): () => Promise<boolean | Date | null> {
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
      const round: Round = { pass, now: ctx.clock.now(), maxEvents, turn: (rounds += 1), routing: [] }
      try {
        const result = await inTx(ctx, (tx) => routeRound(tx, round))
        pass = result.pass
        report(result.oversized)
        return result.next
      } catch (error) {
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
  /** Ids of the events that are being routed; they remain known when the round fails. */
  routing: readonly string[]
}

interface RoundResult {
  readonly pass: Pass
  readonly next: boolean | Date | null
  readonly oversized: readonly SetAsideEvent[]
}

async function routeRound(tx: Tx, round: Round): Promise<RoundResult> {
  const { pass, now, maxEvents, turn } = round
  if (!(await tryLockRouter(tx))) return { pass: firstPass, next: null, oversized: [] }
  const queues = await listQueues(tx, { after: pass.after, limit: MAX_QUEUES })
  const ripe = queues.filter(({ ripeAt }) => ripeAt <= now)
  const limitEach = Math.ceil(MAX_EVENTS / Math.max(ripe.length, 1))
  const waiting = rotate(await listWaitingEvents(tx, ripe, limitEach), turn)
  const subscribers = await lockSubscribers(tx, [...new Set(ripe.map(({ orgId }) => orgId))])
  const plan = planRound(waiting, subscribers, { bytes: MAX_BYTES, events: maxEvents })
  round.routing = plan.steps.map(({ event }) => event.id)
  const oversized = await applyPlan(tx, plan, now)
  const hasMore = pass.hasMore || !plan.complete || waiting.some(({ length }) => length === limitEach)
  const ripeAt = earliest([
    pass.ripeAt,
    ...queues.filter((queue) => !ripe.includes(queue)).map((queue) => queue.ripeAt),
  ])
  const last = queues.length < MAX_QUEUES ? undefined : queues.at(-1)
  if (last === undefined) return { pass: firstPass, next: hasMore ? true : ripeAt, oversized }
  return { pass: { after: last, hasMore, ripeAt }, next: true, oversized }
}

function rotate<T>(items: readonly T[], by: number): readonly T[] {
  const at = items.length === 0 ? 0 : by % items.length
  return [...items.slice(at), ...items.slice(0, at)]
}

function earliest(dates: readonly (Date | null)[]): Date | null {
  return dates.reduce((first, date) => (date !== null && (first === null || date < first) ? date : first), null)
}

/** @returns The events that were too large for a message. */
async function applyPlan(tx: Tx, plan: RoundPlan, now: Date): Promise<readonly SetAsideEvent[]> {
  if (plan.unheard.length > 0) await deleteEvents(tx, plan.unheard)
  if (plan.steps.length > 0) await routeSteps(tx, plan.steps, now)
  if (plan.oversized.length === 0) return []
  const reasonOf = ({ bytes }: { readonly bytes: number }): string =>
    `The event has ${bytes} bytes, a message may have ${MAX_EVENT_BYTES}`
  return setAsideAndReport(tx, plan.oversized, { at: now, reasonOf })
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

async function routeSteps(tx: Tx, steps: readonly RoundStep[], now: Date): Promise<void> {
  const done = steps.filter(({ routedTo }) => routedTo === null).map(({ event }) => event.id)
  const begun = steps.flatMap(({ event: { id }, routedTo }) => (routedTo === null ? [] : [{ id, routedTo }]))
  const texts = new Map([...(await consumeEvents(tx, done)), ...(await updateProgress(tx, begun))])
  const routed = steps.flatMap(({ event: { id, orgId, topic }, hearers }): RoutedEvent[] => {
    const json = texts.get(id)
    // The event is missing when its organization is being deleted.
    return json === undefined ? [] : [{ orgId, topic, json, hearers }]
  })
  const messages = planMessages(routed, uuidv7)
  if (messages.length === 0) return
  await lockLanes(tx, messages)
  await insertMessages(tx, messages, now)
  await updatePending(tx, messages, now)
  wakeAfterCommit(tx, 'deliveries')
}
