import { isQueuedEvent } from '../../events/store.ts'
import type { SetAsideEvent } from '../../events/store-outbox.ts'
import type { Context } from '../../platform/context.ts'
import { inTx, isPassingError } from '../../platform/database/db.ts'
import { type Poller, startPoller } from '../../platform/time/poller.ts'
import type { WebhookCounters } from '../counters.ts'
import { MAX_EVENTS, decideRoundSize } from './decide-round-size.ts'
import { decideFloor, isSearchDue } from './decide-search.ts'
import type { DirectDelivery } from '../delivery/deliver.worker.ts'
import { type WebhookLimits, defaultWebhookLimits } from '../limits.ts'
import { createOrgRoom } from './org-room.ts'
import { type KnownEvents, createKnownEvents } from './known-events.ts'
import { type Round, type RoundResult, routeFound } from './route-round.ts'
import { type SendNow, createSendNow } from './send-now.ts'
import { setAsideAndReport } from './set-aside-events.ts'
import { type FoundQueues, type QueueKey, findQueues, findQueuesOf, firstKey, lowestId } from './store.ts'

const INTERVAL_MS = 500
/** Every commit of an event wakes the router; wake-ups within this time share a round. */
const MIN_GAP_MS = 10
const MAX_QUEUES = 200
/** The events that the router remembers. Beyond them it has to search the outbox. */
const MAX_KNOWN = 50_000
/** A search of the whole outbox reads the dead rows that an open transaction retains, so it must be rare. */
const SEARCH_PAUSE_FACTOR = 200

export interface RouterOptions {
  /** Sends the routed messages directly; null if all messages have to be claimed. */
  readonly direct?: DirectDelivery | null
  readonly limits?: WebhookLimits
  /** See WebhookWorkerOptions. */
  readonly charge?: (account: string, databaseMs: number) => void
}

export function startRouteWorker(ctx: Context, counters: WebhookCounters, options: RouterOptions = {}): Poller {
  const { direct = null } = options
  const known = createKnownEvents(MAX_KNOWN)
  const sendNow = createSendNow({
    direct,
    known,
    isReady: () => knowledge.isReady,
    onReturn(event) {
      known.announce([event.id], [event])
      poller.wake()
    },
  })
  const knowledge: Knowledge = {
    known,
    sendNow,
    isReady: false,
    pass: null,
    mustSearch: true,
    mustSearchAll: true,
    fromId: lowestId,
    hasUnknown: false,
    searchAt: null,
    nextSearchMs: 0,
    hasSent: false,
    eventsPerRound: MAX_EVENTS,
    next: null,
  }
  const poller = startPoller({
    name: 'webhook-route',
    ctx,
    intervalMs: INTERVAL_MS,
    minGapMs: MIN_GAP_MS,
    work: createRouter(ctx, counters, { ...options, knowledge }),
  })
  const unsubscribe = ctx.wakes.on('outbox', (named, rows) => {
    const all = [...named]
    if (all.length === 0 && rows.length === 0) {
      knowledge.hasUnknown = true
      knowledge.isReady = false
    }
    const ids = sendNow.start(all, rows)
    if (ids.length < all.length) knowledge.hasSent = true
    if (ids.length === 0 && rows.length > 0) return
    known.announce(ids, rows.filter(isQueuedEvent))
    poller.wake()
  })
  return {
    wake: () => poller.wake(),
    stop() {
      unsubscribe()
      return poller.stop()
    },
  }
}

/** A pass of a search covers all queues, one page per round. */
interface Pass {
  readonly after: QueueKey
  /** The lowest id that it searches for. */
  readonly fromId: string
  /** Compared with the times in ids. */
  readonly beganMs: number
  /** The lowest id in the pages so far; null if they had no event. */
  readonly firstId: string | null
  /** True when a page of this pass still had events to route after its round. */
  readonly hasMore: boolean
  /** When the next queue in the pages so far will be ripe, or an event was locked. */
  readonly nextAt: Date | null
}

/** The router's knowledge about the outbox. */
interface Knowledge {
  /** Events that were committed since the last search began. */
  readonly known: KnownEvents
  readonly sendNow: SendNow
  /** True once everything that was in the outbox at the start is routed. */
  isReady: boolean
  /** Null between two passes. */
  pass: Pass | null
  /** True when the outbox may have events that are ripe and not known, so that known ones must not overtake them. */
  mustSearch: boolean
  /** True when these may be older than `fromId`. */
  mustSearchAll: boolean
  /** The lowest id of an event that waits and is not known, as far as the last pass can tell. */
  fromId: string
  /** True if an event may have been committed since the last round began, and nobody knows its id. */
  hasUnknown: boolean
  /** When a queue will be ripe. */
  searchAt: Date | null
  /** On the clock of `performance.now()`: only a search finds events of other processes. */
  nextSearchMs: number
  /** True if an event was sent without being routed since the last round began. */
  hasSent: boolean
  /** The number of events for which a round is planned. */
  eventsPerRound: number
  /** Null unless the last round has begun to read the events of the next one. */
  next: NextEvents | null
}

/** Events that are read while the round before them is written, so that a backlog does not wait for both in turn. */
interface NextEvents {
  readonly ids: readonly string[]
  readonly found: Promise<FoundQueues>
}

interface ReadAhead {
  readonly ids: readonly string[]
  readonly turn: number
  readonly now: Date
}

/**
 * Returns the function that runs one round: it turns events of the outbox into messages for the webhooks
 * that subscribe to them at that moment. An event and its messages change in one transaction. An event that
 * can't be routed is set aside, so that it blocks no other event.
 *
 * A round looks up the events that wakes have named. At the start, when the ids of events are unknown, when a lingering topic
 * is ripe, and from time to time (decide-search.ts), it searches the outbox.
 *
 * The function resolves with true when there may be more to route now, or with the time when the next event
 * will be ripe.
 */
function createRouter(
  ctx: Context,
  counters: WebhookCounters,
  {
    direct = null,
    limits = defaultWebhookLimits,
    charge = () => undefined,
    knowledge,
  }: RouterOptions & { readonly knowledge: Knowledge },
): () => Promise<boolean | Date | null> {
  const room = createOrgRoom(limits.pendingPerOrg)
  const maxPending = limits.pendingPerWebhook
  let turn = 0

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
    knowledge.sendNow.beginRound()
    knowledge.known.accept()
    if (knowledge.known.hasDropped() || knowledge.hasUnknown) {
      knowledge.mustSearch = true
      knowledge.mustSearchAll = true
    }
    knowledge.hasUnknown = false
    knowledge.hasSent = false
    // Shares and messages are filled, so a search finds somewhat more than it plans.
    let maxEvents = 2 * MAX_EVENTS
    for (;;) {
      // The rounds of a pass have different queues. If each was a turn, the queues of a page would get only every second one.
      if (knowledge.pass === null) turn += 1
      const round: Round = { now: ctx.clock.now(), maxEvents, turn, direct, room, maxPending, charge, routing: [] }
      try {
        const mustSearch = isSearchDue({ ...knowledge, known: knowledge.known.size() }, round.now, performance.now())
        if (!mustSearch && knowledge.known.size() === 0) return knowledge.searchAt
        const { result, doneIds, next } = await (mustSearch
          ? searchAndRoute(ctx, knowledge, round)
          : routeKnown(ctx, knowledge, round))
        report(result.oversized)
        direct?.take(result.lanes, result.messages)
        // Not before: an event that is sent now must not overtake these.
        knowledge.known.delete(doneIds)
        knowledge.sendNow.forget(doneIds)
        knowledge.sendNow.endRound()
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

interface Routed {
  readonly result: RoundResult
  /** The events that need no further round. */
  readonly doneIds: readonly string[]
  readonly next: boolean | Date | null
}

async function searchAndRoute(ctx: Context, knowledge: Knowledge, round: Round): Promise<Routed> {
  const { known, sendNow, eventsPerRound: events } = knowledge
  const { now } = round
  knowledge.mustSearch = true
  // The search may find events that come before these.
  knowledge.next = null
  const pass = knowledge.pass ?? beginPass(knowledge)
  knowledge.pass = pass
  const beganMs = performance.now()
  const exceptIds = sendNow.ids()
  const { after, fromId } = pass
  const search = { after, fromId, limit: MAX_QUEUES, now, events, turn: round.turn, exceptIds }
  const found = await findQueues(ctx.db, search)
  const tookMs = performance.now() - beganMs
  const result = await routeFound(ctx, round, sendNow.excludeSending(found.waiting))
  const doneIds = result.gone
  // A round that its limit did not make smaller shows nothing.
  if (found.hasMore) {
    const routedMs = performance.now() - beganMs - tookMs
    const past = { events, tookMs: routedMs, searchMs: tookMs, isAwaited: isAwaited(knowledge) }
    knowledge.eventsPerRound = decideRoundSize(past)
  }
  const hasMore = pass.hasMore || !result.complete || found.hasMore
  const unripe = found.queues.filter(({ ripeAt }) => ripeAt > now)
  const nextAt = earliest([pass.nextAt, result.againAt, ...unripe.map(({ ripeAt }) => ripeAt)])
  const firstId = lowestOf(pass, found)
  const last = found.queues.length < MAX_QUEUES ? undefined : found.queues.at(-1)
  knowledge.pass = last === undefined ? null : { ...pass, after: last, firstId, hasMore, nextAt }
  if (last !== undefined) return { result, doneIds, next: true }
  knowledge.fromId = decideFloor(pass.beganMs, firstId)
  knowledge.mustSearch = hasMore || result.againAt !== null || known.hasDropped() || knowledge.mustSearchAll
  known.endSearch(!knowledge.mustSearch)
  knowledge.isReady ||= !knowledge.mustSearch && !knowledge.hasUnknown
  knowledge.searchAt = nextAt
  if (fromId === lowestId)
    knowledge.nextSearchMs = performance.now() + Math.max(INTERVAL_MS, SEARCH_PAUSE_FACTOR * tookMs)
  const done = new Set(doneIds)
  const isLeft = known.ids().some((id) => !done.has(id))
  const mustGoOn = hasMore || knowledge.mustSearchAll
  return { result, doneIds, next: mustGoOn || (isLeft && result.againAt === null) ? true : nextAt }
}

/** Only a pass from the lowest id finds events of other processes that were committed late. */
function beginPass(knowledge: Knowledge): Pass {
  // Events may have been dropped since the round began, if this is not its first try.
  const mustBeWhole = knowledge.mustSearchAll || knowledge.known.hasDropped()
  const isWhole = mustBeWhole || performance.now() >= knowledge.nextSearchMs
  knowledge.mustSearchAll = false
  knowledge.known.beginSearch()
  const fromId = isWhole ? lowestId : knowledge.fromId
  return { after: firstKey, fromId, beganMs: Date.now(), firstId: null, hasMore: false, nextAt: null }
}

function lowestOf({ firstId }: Pass, { queues }: FoundQueues): string | null {
  return queues.reduce(
    (lowest, { firstId: id }) => (lowest === null || (id !== null && id < lowest) ? id : lowest),
    firstId,
  )
}

/** A round also delays events that do not wait for it, because it holds the thread and the database. */
function isAwaited({ known, hasSent }: Knowledge): boolean {
  return hasSent || known.hasAnnounced()
}

/** Begins to read the events of the next round, which no other event waits for. */
function readAhead(ctx: Context, { known, eventsPerRound: limit }: Knowledge, of: ReadAhead): NextEvents | null {
  const ids = known.idsOfRound({ limit, turn: of.turn + 1, after: of.ids })
  if (ids.length === 0) return null
  const found = findQueuesOf(ctx.db, { ids, now: of.now })
  // The round that takes it reports the error, if there is such a round.
  found.catch(() => {})
  return { ids, found }
}

async function routeKnown(ctx: Context, knowledge: Knowledge, round: Round): Promise<Routed> {
  const { known, eventsPerRound: events, next } = knowledge
  const beganMs = performance.now()
  knowledge.next = null
  const ids = next?.ids ?? known.idsOfRound({ limit: events, turn: round.turn })
  const isLimited = ids.length < known.size()
  const found = await (next?.found ?? findQueuesOf(ctx.db, { ids, now: round.now }))
  const isAhead = isLimited && !isAwaited(knowledge)
  const ahead = isAhead ? readAhead(ctx, knowledge, { ids, turn: round.turn, now: round.now }) : null
  const result = await routeFound(ctx, round, knowledge.sendNow.excludeSending(found.waiting))
  const waiting = new Set(found.waiting.flatMap(({ events }) => events.map(({ id }) => id)))
  for (const id of result.gone) waiting.delete(id)
  const doneIds = ids.filter((id) => !waiting.has(id))
  const unripe = found.queues.filter(({ ripeAt }) => ripeAt > round.now)
  knowledge.searchAt = earliest([knowledge.searchAt, ...unripe.map(({ ripeAt }) => ripeAt)])
  // From now on only a search finds the events of these queues, and their ids may be older than those of the last one.
  if (unripe.length > 0) knowledge.fromId = ids.reduce((lowest, id) => (id < lowest ? id : lowest), knowledge.fromId)
  if (isLimited) {
    const past = { events, tookMs: performance.now() - beganMs, searchMs: 0, isAwaited: isAwaited(knowledge) }
    knowledge.eventsPerRound = decideRoundSize(past)
  }
  // What was left of this round comes before it.
  if (doneIds.length === ids.length) knowledge.next = ahead
  if ((isLimited && doneIds.length > 0) || !result.complete) return { result, doneIds, next: true }
  return { result, doneIds, next: earliest([knowledge.searchAt, result.againAt]) }
}

function earliest(dates: readonly (Date | null)[]): Date | null {
  return dates.reduce((first, date) => (date !== null && (first === null || date < first) ? date : first), null)
}
