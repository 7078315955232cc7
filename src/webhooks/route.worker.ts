import type { SetAsideEvent } from '../events/store-outbox.ts'
import type { Context } from '../platform/context.ts'
import { inTx, isPassingError } from '../platform/db.ts'
import { type Poller, startPoller } from '../platform/poller.ts'
import type { WebhookCounters } from './counters.ts'
import type { DirectDelivery } from './deliver.worker.ts'
import { type WebhookLimits, defaultWebhookLimits } from './limits.ts'
import { createOrgRoom } from './org-room.ts'
import { type Round, type RoundResult, routeFound } from './route-round.ts'
import { setAsideAndReport } from './set-aside-events.ts'
import { type QueueKey, findQueues, findQueuesOf, firstKey } from './store-route.ts'

const INTERVAL_MS = 500
/** Every commit of an event wakes the router; wake-ups within this time share a round. */
const MIN_GAP_MS = 10
const MAX_EVENTS = 1000
const MAX_QUEUES = 200
/** A search of the whole outbox reads the dead rows that an open transaction retains, so it must be rare. */
const SEARCH_PAUSE_FACTOR = 200

export interface RouterOptions {
  /** Sends the routed messages directly; null if all messages have to be claimed. */
  readonly direct?: DirectDelivery | null
  readonly limits?: WebhookLimits
}

export function startRouteWorker(ctx: Context, counters: WebhookCounters, options: RouterOptions = {}): Poller {
  return startPoller({
    name: 'webhook-route',
    ctx,
    wake: 'outbox',
    intervalMs: INTERVAL_MS,
    minGapMs: MIN_GAP_MS,
    work: createRouter(ctx, counters, options),
  })
}

/** A pass of a search covers all queues, one page per round. */
interface Pass {
  readonly after: QueueKey
  /** True when a page of this pass still had events to route after its round. */
  readonly hasMore: boolean
  /** When the next queue in the pages so far will be ripe, or an event was locked. */
  readonly nextAt: Date | null
}

const firstPass: Pass = { after: firstKey, hasMore: false, nextAt: null }

/** The router's knowledge about the outbox. */
interface Knowledge {
  /** Events that were committed since the last search began. */
  readonly ids: Set<string>
  pass: Pass
  /** True when the outbox may have events that are ripe and not known, so that known ones must not overtake them. */
  mustSearch: boolean
  /** When a queue will be ripe. */
  searchAt: Date | null
  /** On the clock of `performance.now()`: only a search finds events of other processes. */
  nextSearchMs: number
}

/**
 * Returns the function that runs one round: it turns events of the outbox into messages for the webhooks
 * that subscribe to them at that moment. An event and its messages change in one transaction. An event that
 * can't be routed is set aside, so that it blocks no other event.
 *
 * A round looks up the events that wakes have named. At the start, when many are waiting, when a lingering topic is ripe,
 * and at intervals, it searches the outbox.
 *
 * The function resolves with true when there may be more to route now, or with the time when the next event
 * will be ripe.
 */
function createRouter(
  ctx: Context,
  counters: WebhookCounters,
  { direct = null, limits = defaultWebhookLimits }: RouterOptions,
): (signal: AbortSignal, ids: ReadonlySet<string>) => Promise<boolean | Date | null> {
  const knowledge: Knowledge = { ids: new Set(), pass: firstPass, mustSearch: true, searchAt: null, nextSearchMs: 0 }
  const room = createOrgRoom(limits.pendingPerOrg)
  const maxPending = limits.pendingPerWebhook
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

  return async (_signal, ids) => {
    addIds(knowledge, ids)
    let maxEvents = MAX_EVENTS
    for (;;) {
      rounds += 1
      const round: Round = { now: ctx.clock.now(), maxEvents, turn: rounds, direct, room, maxPending, routing: [] }
      try {
        const { result, next } = await (isSearchDue(knowledge, round.now)
          ? searchAndRoute(ctx, knowledge, round)
          : routeKnown(ctx, knowledge, round))
        report(result.oversized)
        direct?.take(result.lanes, result.messages)
        return next
      } catch (error) {
        direct?.releaseStray()
        const [only, ...others] = round.routing
        if (only === undefined || isPassingError(error)) throw error
        if (others.length === 0) {
          await setAside(only, error)
          return true
        }
        // One of the events is faulty: the next round tries half of them, until the faulty one is isolated.
        maxEvents = Math.floor(round.routing.length / 2)
      }
    }
  }
}

function addIds(knowledge: Knowledge, ids: ReadonlySet<string>): void {
  for (const id of ids) knowledge.ids.add(id)
  if (knowledge.ids.size <= MAX_EVENTS) return
  knowledge.ids.clear()
  knowledge.mustSearch = true
}

function isSearchDue({ ids, mustSearch, searchAt, nextSearchMs }: Knowledge, now: Date): boolean {
  return mustSearch || ids.size === 0 || (searchAt !== null && searchAt <= now) || performance.now() >= nextSearchMs
}

interface Routed {
  readonly result: RoundResult
  readonly next: boolean | Date | null
}

async function searchAndRoute(ctx: Context, knowledge: Knowledge, round: Round): Promise<Routed> {
  const { pass } = knowledge
  const { now } = round
  knowledge.mustSearch = true
  const beganMs = performance.now()
  const found = await findQueues(ctx.db, { after: pass.after, limit: MAX_QUEUES, now, events: MAX_EVENTS })
  const tookMs = performance.now() - beganMs
  const result = await routeFound(ctx, round, found)
  for (const id of result.gone) knowledge.ids.delete(id)
  const hasMore = pass.hasMore || !result.complete || found.hasMore
  const unripe = found.queues.filter(({ ripeAt }) => ripeAt > now)
  const nextAt = earliest([pass.nextAt, result.againAt, ...unripe.map(({ ripeAt }) => ripeAt)])
  const last = found.queues.length < MAX_QUEUES ? undefined : found.queues.at(-1)
  knowledge.pass = last === undefined ? firstPass : { after: last, hasMore, nextAt }
  if (last !== undefined) return { result, next: true }
  knowledge.mustSearch = hasMore || result.againAt !== null
  knowledge.searchAt = nextAt
  knowledge.nextSearchMs = performance.now() + Math.max(INTERVAL_MS, SEARCH_PAUSE_FACTOR * tookMs)
  return { result, next: hasMore || (knowledge.ids.size > 0 && result.againAt === null) ? true : nextAt }
}

async function routeKnown(ctx: Context, knowledge: Knowledge, round: Round): Promise<Routed> {
  const { ids } = knowledge
  const found = await findQueuesOf(ctx.db, { ids: [...ids], now: round.now })
  const result = await routeFound(ctx, round, found)
  const waiting = new Set(found.waiting.flatMap(({ events }) => events.map(({ id }) => id)))
  for (const id of result.gone) waiting.delete(id)
  for (const id of ids) if (!waiting.has(id)) ids.delete(id)
  const unripe = found.queues.filter(({ ripeAt }) => ripeAt > round.now)
  knowledge.searchAt = earliest([knowledge.searchAt, ...unripe.map(({ ripeAt }) => ripeAt)])
  if (!result.complete) return { result, next: true }
  return { result, next: earliest([knowledge.searchAt, result.againAt]) }
}

function earliest(dates: readonly (Date | null)[]): Date | null {
  return dates.reduce((first, date) => (date !== null && (first === null || date < first) ? date : first), null)
}
