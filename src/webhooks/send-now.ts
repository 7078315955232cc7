import { type QueuedEvent, isQueuedEvent } from '../events/store.ts'
import type { WokenRow } from '../platform/wakes.ts'
import type { DirectDelivery } from './deliver.worker.ts'
import { type AnnouncedEvent, type KnownEvents, queueOf } from './known-events.ts'
import { messageBody } from './plan-messages.ts'
import { MAX_EVENT_BYTES, type WaitingEvent, type WaitingQueue } from './plan-round.ts'
import type { FoundEvent, FoundQueue } from './store-route.ts'

/** Sends events as soon as they are committed, before they are routed, and knows which may have been sent. */
export interface SendNow {
  /**
   * Starts to send the event of a commit, if it has only one and that can be sent at once.
   * @param ids The events of one commit.
   * @returns The ids of the events that have to be routed.
   */
  start(ids: Iterable<string>, rows: readonly WokenRow[]): string[]
  /** The events that are being sent, or whose results are not yet written. */
  ids(): string[]
  /** Omits the events that are being sent from what was found. The others will not be sent before they are routed. */
  excludeSending(found: readonly FoundQueue[]): WaitingQueue[]
  /** Must be called with the events that need no further round. */
  forget(ids: Iterable<string>): void
}

interface SendNowOptions {
  /** Null if every event has to be routed. */
  readonly direct: Pick<DirectDelivery, 'startNow'> | null
  readonly known: KnownEvents
  /** False while the outbox may have earlier events. */
  readonly isReady: () => boolean
  /** Receives an event that was not sent, or whose result could not be written. */
  readonly onReturn: (event: AnnouncedEvent) => void
}

/**
 * Limits the events that were found before their commit was announced here. They are remembered after they have been routed,
 * too, because the announcement may come later still. Events of former runs are among them, and are never announced.
 */
const MAX_FOUND = 10_000
/**
 * A former run may have sent this many events for each webhook: twice as many as a lane has undecided, because
 * transactions commit in another order than that of their events.
 */
const MAX_OF_FORMER_RUN = 64

/**
 * An event for a single webhook is sent without being routed, if this process has the lane and would send it at once. Its
 * row in the outbox stays until the result is written: after a crash it is routed, and the message has its id again.
 */
export function createSendNow({ direct, known, isReady, onReturn }: SendNowOptions): SendNow {
  const sending = new Set<string>()
  const returned = new Set<string>()
  const found = new Set<string>()
  /** The events that a former run may have sent, by their webhooks: how many there are, and the last one. */
  const ofFormerRun = new Map<string, { count: number; lastId: string }>()
  let isFormerRunRouted = false

  function startOne(event: QueuedEvent): boolean {
    const { id, orgId, topic, webhookId, json } = event
    if (direct === null || webhookId === null || json === null || json.length > MAX_EVENT_BYTES) return false
    if (!isReady() || known.isWaiting(queueOf(event))) return false
    const body = messageBody(topic, [{ json }])
    const message = { id, topic, body, attempt: 0, orderKey: null, payload: null }
    const isStarted = direct.startNow({ orgId, webhookId }, message, (end) => {
      sending.delete(id)
      if (end === 'written') return
      returned.add(id)
      onReturn({ id, orgId, topic })
    })
    if (isStarted) sending.add(id)
    return isStarted
  }

  function mayBeOfFormerRun(id: string, webhookId: string): boolean {
    const former = ofFormerRun.get(webhookId) ?? { count: 0, lastId: '' }
    if (id <= former.lastId) return true
    if (former.count >= MAX_OF_FORMER_RUN) return false
    ofFormerRun.set(webhookId, { count: former.count + 1, lastId: id })
    return true
  }

  function mayHaveBeenSent(id: string, webhookId: string): boolean {
    return returned.has(id) || (!isFormerRunRouted && !known.has(id) && mayBeOfFormerRun(id, webhookId))
  }

  function waitingOf(event: FoundEvent): WaitingEvent {
    const { id, webhookId } = event
    return Object.assign(event, { sentTo: webhookId !== null && mayHaveBeenSent(id, webhookId) ? webhookId : null })
  }

  return {
    start(ids, rows) {
      const all = [...ids]
      const isFound = all.filter((id) => found.delete(id)).length > 0
      const [event] = rows
      // The events of a commit keep their order because all of them are routed.
      if (isFound || all.length !== 1 || event === undefined || !isQueuedEvent(event)) return all
      return startOne(event) ? [] : all
    },
    ids: () => [...sending],
    excludeSending(queues) {
      isFormerRunRouted ||= isReady()
      if (isFormerRunRouted) ofFormerRun.clear()
      const left = queues.map(({ events, subscribers }) => ({
        events: events.filter(({ id }) => !sending.has(id)),
        subscribers,
      }))
      for (const { events } of left)
        for (const { id, webhookId } of events) if (webhookId !== null && !known.has(id)) found.add(id)
      for (const id of found) {
        if (found.size <= MAX_FOUND) break
        found.delete(id)
      }
      return left
        .filter(({ events }) => events.length > 0)
        .map(({ events, subscribers }) => ({ events: events.map(waitingOf), subscribers }))
    },
    forget(ids) {
      for (const id of ids) returned.delete(id)
    },
  }
}
