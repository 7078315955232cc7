import { type QueuedEvent, isQueuedEvent } from '../../events/store.ts'
import type { WokenRow } from '../../platform/database/wakes.ts'
import type { DirectDelivery } from '../delivery/direct-delivery.ts'
import { type AnnouncedEvent, type KnownEvents, queueOf } from './known/known-events.ts'
import { type PassBacklog, createPassBacklog, onlyRecipientOf } from './pass-backlog.ts'
import { messageBody } from './planning/plan-messages.ts'
import { createSentBefore } from './sent-before.ts'
import { MAX_EVENT_BYTES, type WaitingQueue } from './planning/plan-round.ts'
import type { FoundQueue } from './store.ts'
import type { EndOfUnrouted } from '../lanes/held/waiting-messages.ts'

/** Sends events as soon as they are committed, before they are routed, and knows which may have been sent. */
export interface SendNow {
  /** Null if every event has to be routed. */
  readonly backlog: PassBacklog | null
  /**
   * Passes the event of a commit to its lane, if the commit has only one and the lane accepts it.
   * @param ids The events of one commit.
   * @returns The ids of the events that have to be routed.
   */
  start(ids: Iterable<string>, rows: readonly WokenRow[]): string[]
  /** Must be called when a round of the router begins: it routes the events that were announced before. */
  beginRound(): void
  /**
   * Passes the events that were announced during the round to their lanes, if the round has routed everything before them.
   * Must be called at its end.
   */
  endRound(): void
  /** The events that lanes have: they wait there, are being sent, or their results are not yet written. */
  ids(): string[]
  /** Omits the events that are being sent from what was found. The others will not be sent before they are routed. */
  excludeSending(found: readonly FoundQueue[]): WaitingQueue[]
  /** Must be called with the events that need no further round. */
  forget(ids: Iterable<string>): void
}

type PassedEvent = AnnouncedEvent & { readonly json: string }

interface SendNowOptions {
  /** Null if every event has to be routed. */
  readonly direct: Pick<DirectDelivery, 'accept' | 'roomForBacklog' | 'awaitRoom'> | null
  readonly known: KnownEvents
  /** False while the outbox may have earlier events. */
  readonly isReady: () => boolean
  /** Receives an event that a lane has returned. */
  readonly onReturn: (event: AnnouncedEvent) => void
  /** Called when a lane has room for more events of a backlog. */
  readonly onRoom: () => void
  /** The clock of the lanes. */
  readonly nowMs: () => number
}

/**
 * Limits the events that were found before their commit was announced here. They are remembered after they have been routed,
 * too, because the announcement may come later still. Events of former runs are among them, and are never announced.
 */
const MAX_FOUND = 10_000

/** Limits the events that are kept in memory until the end of a round, and their length. */
const MAX_LATER = 1000
const MAX_LATER_LENGTH = 4096

/**
 * An event for a single webhook is sent without being routed, if this process has the lane and nothing before it waits for the
 * router. Its row in the outbox stays until the result is written: after a crash it is routed, and the message has its id
 * again.
 */
export function createSendNow({ direct, known, isReady, onReturn, onRoom, nowMs }: SendNowOptions): SendNow {
  const sending = new Set<string>()
  const sentBefore = createSentBefore((id) => known.has(id))
  const found = new Set<string>()
  /** Events that were announced during the running round, and that it has not found. */
  const later = new Map<string, QueuedEvent>()

  function startOne({ webhookId, json, ...event }: QueuedEvent): boolean {
    if (webhookId === null || json === null || json.length > MAX_EVENT_BYTES) return false
    return isReady() && pass({ ...event, json }, webhookId, false)
  }

  /** @returns True if the lane has the event. */
  function pass({ id, orgId, topic, json }: PassedEvent, webhookId: string, isOfBacklog: boolean): boolean {
    if (direct === null) return false
    const body = messageBody(topic, [{ json }])
    const message = { id, topic, body, attempt: 0, pauses: 0, orderKey: null, payload: null }
    sending.add(id)
    const onEnd = (end: Parameters<EndOfUnrouted>[0]): void => {
      sending.delete(id)
      if (end === 'written') {
        sentBefore.delete(id)
        return
      }
      if (end === 'returned') sentBefore.add(id, webhookId)
      onReturn({ id, orgId, topic })
    }
    const isAccepted = direct.accept({ orgId, webhookId }, message, { onEnd, isOfBacklog })
    if (!isAccepted) sending.delete(id)
    // The lane may have returned it already.
    return sending.has(id)
  }

  function waitingOf({ events, subscribers }: FoundQueue): WaitingQueue {
    // None behind an event that had to be routed was passed on.
    let mayBePassed = true
    const waiting = events.map((event) => {
      const recipient = mayBePassed ? onlyRecipientOf(event, subscribers) : null
      mayBePassed = recipient !== null
      return Object.assign(event, { sentTo: sentBefore.webhookOf(event, recipient?.id ?? null) })
    })
    return { events: waiting, subscribers }
  }

  return {
    backlog:
      direct === null
        ? null
        : createPassBacklog({ direct, onRoom, nowMs, send: (event, webhookId) => pass(event, webhookId, true) }),
    start(ids, rows) {
      const all = [...ids]
      const isFound = all.filter((id) => found.delete(id)).length > 0
      const [event] = rows
      // The events of a commit keep their order because all of them are routed.
      if (isFound || all.length !== 1 || event === undefined || !isQueuedEvent(event)) return all
      const isWaiting = known.isWaiting(queueOf(event))
      if (!isWaiting && startOne(event)) return []
      if (isWaiting && later.size < MAX_LATER && (event.json?.length ?? Infinity) <= MAX_LATER_LENGTH)
        later.set(event.id, event)
      return all
    },
    beginRound: () => later.clear(),
    endRound() {
      if (later.size === 0) return
      const blocked = new Set<string | null>()
      for (const [id, queue] of known.announced()) {
        const event = later.get(id)
        const isFirst = queue !== null && !blocked.has(queue) && !known.isRouting(queue)
        if (event !== undefined && isFirst && startOne(event)) known.withdraw(id)
        else blocked.add(queue)
      }
    },
    ids: () => [...sending],
    excludeSending(queues) {
      if (isReady()) sentBefore.endFormerRun()
      const left = queues.map(({ events, subscribers }) => ({
        events: events.filter(({ id }) => !sending.has(id)),
        subscribers,
      }))
      for (const { events } of left)
        for (const { id, webhookId } of events) {
          later.delete(id)
          if (webhookId !== null && !known.has(id)) found.add(id)
        }
      for (const id of found) {
        if (found.size <= MAX_FOUND) break
        found.delete(id)
      }
      return left.filter(({ events }) => events.length > 0).map(waitingOf)
    },
    forget(ids) {
      for (const id of ids) sentBefore.delete(id)
    },
  }
}
