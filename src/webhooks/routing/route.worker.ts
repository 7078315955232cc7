import { isQueuedEvent } from '../../events/store.ts'
import type { SetAsideEvent } from '../../events/store-outbox.ts'
import type { Context } from '../../platform/context.ts'
import { earliest } from '../../platform/extremes.ts'
import { inTx } from '../../platform/database/db.ts'
import { isPassingError } from '../../platform/database/database-errors.ts'
import { type Poller, startPoller } from '../../platform/time/poller.ts'
import type { WebhookCounters } from '../metrics/counters.ts'
import { MAX_EVENTS, decideRoundSize } from './planning/decide-round-size.ts'
import { decideFloor, isSearchDue } from './planning/decide-search.ts'
import type { DirectDelivery } from '../delivery/direct-delivery.ts'
import { type WebhookLimits, defaultWebhookLimits } from '../limits/limits.ts'
import { createOrgRooms } from './org-rooms.ts'
import { type Knowledge, type Pass, type Routed, createKnowledge, isAwaited, passOn } from './known/knowledge.ts'
import { createKnownEvents, queueOf } from './known/known-events.ts'
import { routeKnown } from './known/route-known.ts'
import { type Round, routeFound } from './route-round.ts'
import { createSendNow } from './send-now.ts'
import { setAsideAndReport } from './set-aside/set-aside-events.ts'
import { type FoundQueue, type FoundQueues, type QueueKey, findQueues, firstKey, lowestId } from './store.ts'
import { messageOf } from '../../platform/message-of.ts'

const INTERVAL_MS = 500
/** Every commit of an event wakes the router; wake-ups within this time share a round. */
const MIN_GAP_MS = 10
const MAX_QUEUES = 200
/** The events that the router remembers. Beyond them it has to search the outbox. */
const MAX_KNOWN = 200_000
/** A search of the whole outbox reads the dead rows that an open transaction retains, so it must be rare. */
const SEARCH_PAUSE_FACTOR = 200

export interface RouterOptions {
  /** Sends the routed messages directly; null if all messages have to be claimed. */
  readonly direct?: DirectDelivery | null
  readonly limits?: WebhookLimits
  /** See WebhookWorkerOptions. */
  readonly charge?: (account: string, databaseMs: number) => void
  /** The same. */
  readonly laneMs?: () => number
}

export function startRouteWorker(ctx: Context, counters: WebhookCounters, options: RouterOptions = {}): Poller {
  const { direct = null, laneMs = () => performance.now() } = options
  const known = createKnownEvents(MAX_KNOWN)
  const sendNow = createSendNow({
    direct,
    known,
    isReady: () => knowledge.isReady,
    onReturn(event) {
      known.announce([event.id], [event])
      // It comes before the events that were read ahead.
      knowledge.next = null
      poller.wake()
    },
    onRoom: () => poller.wake(),
    nowMs: laneMs,
  })
  const knowledge = createKnowledge({ known, sendNow })
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
  const rooms = createOrgRooms(limits.pendingPerOrg)
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
    const reason = messageOf(error)
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
      const round: Round = { now: ctx.clock.now(), maxEvents, turn, direct, rooms, maxPending, charge, routing: [] }
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
        knowledge.sendNow.backlog?.endRound((queue) => knowledge.known.isRouting(queue))
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

async function searchAndRoute(ctx: Context, knowledge: Knowledge, round: Round): Promise<Routed> {
  const { known, sendNow, eventsPerSearch: events } = knowledge
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
  const found = await findQueues(ctx.queueDb, search)
  const tookMs = performance.now() - beganMs
  const { left, isPassed } = passKnown(knowledge, found.waiting)
  const result = await routeFound(ctx, round, left)
  const doneIds = result.gone
  const isMore = !found.more.every(isPassed)
  // A round that its limit did not make smaller shows nothing.
  if (isMore) {
    const routedMs = performance.now() - beganMs - tookMs
    const past = { events, tookMs: routedMs, searchMs: tookMs, isAwaited: isAwaited(knowledge) }
    knowledge.eventsPerSearch = decideRoundSize(past)
  }
  const hasMore = pass.hasMore || !result.complete || isMore
  const unripe = found.queues.filter(({ ripeAt }) => ripeAt > now)
  const nextAt = earliest([pass.nextAt, result.againAt, ...unripe.map(({ ripeAt }) => ripeAt)])
  const firstId = lowestOf(pass, found)
  const last = found.queues.length < MAX_QUEUES ? undefined : found.queues.at(-1)
  knowledge.pass = last === undefined ? null : { ...pass, after: last, firstId, hasMore, nextAt }
  if (last !== undefined) return { result, doneIds, next: true }
  knowledge.fromId = decideFloor(pass.beganMs, firstId)
  knowledge.mustSearch = hasMore || result.againAt !== null || known.hasDropped() || knowledge.mustSearchAll
  known.endSearch(!knowledge.mustSearch && found.more.length === 0)
  knowledge.isReady ||= !knowledge.mustSearch && !knowledge.hasUnknown
  knowledge.searchAt = nextAt
  if (fromId === lowestId)
    knowledge.nextSearchMs = performance.now() + Math.max(INTERVAL_MS, SEARCH_PAUSE_FACTOR * tookMs)
  const done = new Set(doneIds)
  const isLeft = known.ids().some((id) => !done.has(id))
  const mustGoOn = hasMore || knowledge.mustSearchAll
  return { result, doneIds, next: mustGoOn || (isLeft && result.againAt === null) ? true : nextAt }
}

/**
 * Passes on what a search has found of backlogs whose events are known. The others are routed, because events before them may be
 * unknown.
 */
function passKnown(knowledge: Knowledge, found: readonly FoundQueue[]) {
  const { known, sendNow } = knowledge
  const waiting = sendNow.excludeSending(found)
  // Before any is passed on, because it is not known from then on.
  const others = new Set(waiting.filter(({ events }) => !events.every(({ id }) => known.has(id))))
  const passed = passOn(
    knowledge,
    waiting.filter((queue) => !others.has(queue)),
  )
  const left = [...passed.left, ...others]
  const leftQueues = new Set(left.flatMap(({ events: [event] }) => (event === undefined ? [] : [queueOf(event)])))
  const isPassed = (of: QueueKey): boolean =>
    !leftQueues.has(queueOf(of)) && sendNow.backlog?.isPassing(queueOf(of)) === true
  return { left, isPassed }
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
