import { FIRST_EVENTS, MAX_EVENTS } from '../planning/decide-round-size.ts'
import type { KnownEvents } from './known-events.ts'
import type { PassedOn } from '../pass-backlog.ts'
import type { WaitingQueue } from '../planning/plan-round.ts'
import type { RoundResult } from '../route-round.ts'
import type { SendNow } from '../send-now.ts'
import { type FoundQueues, type QueueKey, lowestId } from '../store.ts'

/** A pass of a search covers all queues, one page per round. */
export interface Pass {
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
export interface Knowledge {
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
  /** When other events were last seen to wait, or sent without being routed; on the clock of `performance.now()`. */
  awaitedMs: number
  /** The number of known events for which a round is planned. */
  eventsPerRound: number
  /** The same for a round that searches. */
  eventsPerSearch: number
  /** Increases with each round that takes backlogs, so that these take turns. */
  turn: number
  /** How long rounds may still leave out the backlogs before one must take them. */
  shortLeftMs: number
  /** Null unless the last round has begun to read the events of the next one. */
  next: NextEvents | null
}

/** Events that are read while the round before them is written, so that a backlog does not wait for both in turn. */
export interface NextEvents {
  readonly ids: readonly string[]
  /** The queues that were ripe then have their events in `found`. */
  readonly readAt: Date
  readonly found: Promise<FoundQueues>
}

/** Nothing is known at the start, so the first rounds search the whole outbox. */
export function createKnowledge(parts: Pick<Knowledge, 'known' | 'sendNow'>): Knowledge {
  return {
    ...parts,
    isReady: false,
    pass: null,
    mustSearch: true,
    mustSearchAll: true,
    fromId: lowestId,
    hasUnknown: false,
    searchAt: null,
    nextSearchMs: 0,
    hasSent: false,
    awaitedMs: -Infinity,
    eventsPerRound: FIRST_EVENTS,
    eventsPerSearch: MAX_EVENTS,
    turn: 0,
    shortLeftMs: 0,
    next: null,
  }
}

/** What a round has routed. */
export interface Routed {
  readonly result: RoundResult
  /** The events that need no further round. */
  readonly doneIds: readonly string[]
  readonly next: boolean | Date | null
}

/** Rounds stay short for this time after an event that needs short ones, since others may follow. */
const AWAITED_FOR_MS = 200

/** A round also delays events that do not wait for it, because it holds the thread and the database. */
export function isAwaited(knowledge: Knowledge): boolean {
  const now = performance.now()
  if (knowledge.hasSent || knowledge.known.hasAnnounced()) knowledge.awaitedMs = now
  return now - knowledge.awaitedMs < AWAITED_FOR_MS
}

/** Passes events to lanes, as far as these accept them, so that they need not be routed. */
export function passOn({ known, sendNow }: Knowledge, waiting: readonly WaitingQueue[]): PassedOn {
  const passed = sendNow.backlog?.pass(waiting) ?? { left: waiting, passedIds: [] }
  // At once, because a lane may return them while the others are routed.
  known.delete(passed.passedIds)
  // A search also passes on what was announced since the round began, such as events that a lane has returned.
  for (const id of passed.passedIds) known.withdraw(id)
  return passed
}
