import { MAX_IN_MEMORY } from '../limits/limits.ts'
import { queueOf } from './known/known-events.ts'
import type { FoundEvent } from './store.ts'

/** Knows which events may have been sent before they are routed, so that their messages get their ids again. */
export interface SentBefore {
  /** Adds an event that a lane of this run began to send and has returned. */
  add(id: string, webhookId: string): void
  delete(id: string): void
  /** Ends the time in which a found event may have been sent by the former run: all that it left have been routed. */
  endFormerRun(): void
  /**
   * Returns the webhook that may have got the event; null if none.
   * @param passedTo The webhook to which a former run may have passed the event on from a backlog.
   */
  webhookOf(event: FoundEvent, passedTo: string | null): string | null
}

/**
 * A former run may have sent this many events for each webhook: twice as many as a lane has undecided, because
 * transactions commit in another order than that of their events.
 */
const MAX_OF_FORMER_RUN = 64
/** The same for the events of a queue that it may have passed on from a backlog: a lane has as many, and sends them in order. */
const MAX_PASSED_BY_FORMER_RUN = MAX_IN_MEMORY + MAX_OF_FORMER_RUN

/** @param isKnown True if this run has heard of the commit of the event. */
export function createSentBefore(isKnown: (id: string) => boolean): SentBefore {
  /** Their webhooks by the ids of the events. */
  const returned = new Map<string, string>()
  /** The events that a former run may have sent, by their webhooks, or queues: how many there are, and the last one. */
  const ofFormerRun = new Map<string, { count: number; lastId: string }>()
  let isFormerRunRouted = false

  function mayBeOfFormerRun(id: string, key: string, max: number): boolean {
    const former = ofFormerRun.get(key) ?? { count: 0, lastId: '' }
    if (id <= former.lastId) return true
    if (former.count >= max) return false
    ofFormerRun.set(key, { count: former.count + 1, lastId: id })
    return true
  }

  return {
    add: (id, webhookId) => void returned.set(id, webhookId),
    delete: (id) => void returned.delete(id),
    endFormerRun() {
      isFormerRunRouted = true
      ofFormerRun.clear()
    },
    webhookOf(event, passedTo) {
      const { id, webhookId } = event
      const returnedFrom = returned.get(id)
      if (returnedFrom !== undefined) return returnedFrom
      if (isFormerRunRouted || isKnown(id)) return null
      if (webhookId !== null && mayBeOfFormerRun(id, webhookId, MAX_OF_FORMER_RUN)) return webhookId
      return passedTo !== null && mayBeOfFormerRun(id, queueOf(event), MAX_PASSED_BY_FORMER_RUN) ? passedTo : null
    },
  }
}
