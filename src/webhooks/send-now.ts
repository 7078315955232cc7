import { type QueuedEvent, isQueuedEvent } from '../events/store.ts'
import type { WokenRow } from '../platform/wakes.ts'
import type { DirectDelivery } from './deliver.worker.ts'
import { type KnownEvents, queueOf } from './known-events.ts'
import { messageBody } from './plan-messages.ts'
import { MAX_EVENT_BYTES } from './plan-round.ts'
import type { FoundQueue } from './store-route.ts'

/** Sends events as soon as they are committed, before they are routed. */
export interface SendNow {
  /** Starts to send what may be sent at once. @returns The other ids. */
  start(ids: Iterable<string>, rows: readonly WokenRow[]): string[]
  /** The events that are being sent, or whose results are not yet written. */
  ids(): string[]
  /** Omits the events that are being sent from what a search has found. The others will not be sent before they are routed. */
  claim(found: readonly FoundQueue[]): readonly FoundQueue[]
}

interface SendNowOptions {
  readonly direct: DirectDelivery
  readonly known: KnownEvents
  /** False while the outbox may have earlier events. */
  readonly isReady: () => boolean
  /** Receives an event that was not sent, or whose result could not be written. */
  readonly onReturn: (event: QueuedEvent) => void
}

/** Limits the events that searches have found before their commit was announced here. */
const MAX_FOUND = 10_000

/**
 * An event for a single webhook is sent without being routed, if this process has the lane and would send it at once. Its
 * row in the outbox stays until the result is written: after a crash it is routed, and the message has its id again.
 */
export function createSendNow({ direct, known, isReady, onReturn }: SendNowOptions): SendNow {
  const sending = new Set<string>()
  const found = new Set<string>()

  function startOne(event: QueuedEvent): boolean {
    const { id, orgId, topic, webhookId, json } = event
    if (webhookId === null || json === null || found.delete(id)) return false
    if (!isReady() || known.isWaiting(queueOf(event)) || json.length > MAX_EVENT_BYTES) return false
    const body = messageBody(topic, [{ json }])
    const isStarted = direct.startNow({ orgId, webhookId }, { id, topic, body, attempt: 0, orderKey: null }, (end) => {
      sending.delete(id)
      if (end === 'returned') onReturn(event)
    })
    if (isStarted) sending.add(id)
    return isStarted
  }

  return {
    start(ids, rows) {
      const started = new Set(rows.filter((row) => isQueuedEvent(row) && startOne(row)).map(({ id }) => id))
      return [...ids].filter((id) => !started.has(id))
    },
    ids: () => [...sending],
    claim(waiting) {
      const left = waiting.map(({ events, subscribers }) => ({
        events: events.filter(({ id }) => !sending.has(id)),
        subscribers,
      }))
      for (const { events } of left)
        for (const { id, webhookId } of events) if (webhookId !== null && !known.has(id)) found.add(id)
      for (const id of found) {
        if (found.size <= MAX_FOUND) break
        found.delete(id)
      }
      return left.filter(({ events }) => events.length > 0)
    },
  }
}
