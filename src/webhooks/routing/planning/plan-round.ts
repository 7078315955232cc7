/** An event that waits in the outbox. */
export interface WaitingEvent {
  readonly id: string
  readonly orgId: string
  readonly siteId: string | null
  readonly topic: string
  /** The length of its JSON text. */
  readonly bytes: number
  /** Its JSON text; null if it is long. */
  readonly json: string | null
  /** Webhooks up to this id have got their message; null while none has. */
  readonly routedTo: string | null
  /** The webhook that may have received the event already, in a message with its id; null if none. */
  readonly sentTo: string | null
}

export interface Subscriber {
  readonly orgId: string
  readonly id: string
  /** Null for an organization's webhook, which receives the events of all sites. */
  readonly siteId: string | null
  readonly singleEvent: boolean
  /** A JSONPath; null to receive every event. */
  readonly filter: string | null
  /** True if no message may have events of two devices. */
  readonly byDevice: boolean
}

/** Waiting events of one organization and topic. */
export interface WaitingQueue {
  /** In order of id; never empty. */
  readonly events: readonly WaitingEvent[]
  /** The enabled webhooks of the organization and its sites that subscribe to the topic, in order of id. */
  readonly subscribers: readonly Subscriber[]
}

export interface RoundLimits {
  /** The total size of all messages, computed as if each carried one event. */
  readonly bytes: number
  readonly events: number
}

/** One event that this round routes, either to all of its subscribers or to the next ones. */
export interface RoundStep {
  readonly event: WaitingEvent
  /** In order of id; never empty. */
  readonly recipients: readonly Subscriber[]
  /** The last of `recipients` when others are left for the next round; null when the event is done. */
  readonly routedTo: string | null
}

export interface RoundPlan {
  readonly steps: readonly RoundStep[]
  /** Ids of events that no webhook, or no further webhook, subscribes to. */
  readonly withoutRecipients: readonly string[]
  /** Ids of events that are larger than the largest message. */
  readonly oversized: readonly string[]
  /** False when something was left for the next round. */
  readonly complete: boolean
}

/** The largest event. A message is one parameter of a SQL statement and is in memory while it is sent. */
export const MAX_EVENT_BYTES = 4_000_000

/** The cost of a message in addition to its events; it limits the number of small messages in a round. */
const MESSAGE_OVERHEAD_BYTES = 512

/** The cost of a filter in addition, which takes up to a millisecond or two; it limits how many a round tries. */
const FILTER_BYTES = 16 * 1024

/**
 * Plans a round of the router by the sizes of the events only: an event costs its size once for each webhook that
 * receives it. Every queue gets an equal share of the bytes, so that a busy organization delays only itself; what a queue
 * does not need is shared by the others. An event that costs more than the share goes to some of its webhooks first; later
 * events of the queue wait until it is done, so that each webhook gets them in order.
 */
export function planRound(queues: readonly WaitingQueue[], limits: RoundLimits): RoundPlan {
  const plan = {
    steps: [] as RoundStep[],
    withoutRecipients: [] as string[],
    oversized: [] as string[],
    complete: true,
  }
  let bytesLeft = limits.bytes
  const share = shareOf(limits.bytes, queues.map(costOf))
  for (const { events, subscribers } of queues) {
    const gatheringIds = gatheringIdsOf(events)
    const overhead = overheadOf(subscribers)
    let shareLeft = share
    let stepsOfQueue = 0
    for (const event of events) {
      const recipients = recipientsOf(event, subscribers)
      if (event.bytes > MAX_EVENT_BYTES) plan.oversized.push(event.id)
      else if (recipients.length === 0) plan.withoutRecipients.push(event.id)
      else if (event.sentTo !== null && gatheringIds.has(event.sentTo)) {
        // Its message has the id of the event, and would come before the messages of this round.
        plan.complete = false
        break
      } else {
        const costEach = event.bytes + overhead
        const room = Math.floor(Math.min(shareLeft, bytesLeft) / costEach)
        // One message is planned even if it exceeds the share; otherwise it would wait forever.
        const least = stepsOfQueue === 0 && (plan.steps.length === 0 || costEach <= bytesLeft) ? 1 : 0
        const routed = recipients.slice(0, Math.max(room, least))
        const isCut = routed.length < recipients.length
        // Splitting an event makes batches smaller, so only an event that blocks its queue is split.
        plan.complete &&= !isCut && plan.steps.length < limits.events
        if (plan.steps.length >= limits.events || routed.length === 0 || (isCut && stepsOfQueue > 0)) break
        plan.steps.push({ event, recipients: routed, routedTo: isCut ? (routed.at(-1)?.id ?? null) : null })
        gatheringIds.add(event, routed)
        stepsOfQueue += 1
        shareLeft -= routed.length * costEach
        bytesLeft -= routed.length * costEach
        if (isCut) break
      }
    }
  }
  return plan
}

/** Returns what each message of an event costs beside the event: on average, as not all of the webhooks may have a filter. */
function overheadOf(subscribers: readonly Subscriber[]): number {
  const filters = subscribers.filter(({ filter }) => filter !== null).length
  return MESSAGE_OVERHEAD_BYTES + (FILTER_BYTES * filters) / Math.max(subscribers.length, 1)
}

/** Returns the greatest cost that the events of a queue may have. */
function costOf({ events, subscribers }: WaitingQueue): number {
  const overhead = overheadOf(subscribers)
  return events.reduce((sum, { bytes }) => sum + bytes + overhead, 0) * subscribers.length
}

/** Divides bytes among queues with these costs, so that none gets less than another one gets beyond its cost. */
function shareOf(bytes: number, costs: readonly number[]): number {
  let left = bytes
  for (const [index, cost] of costs.toSorted((a, b) => a - b).entries()) {
    const share = left / (costs.length - index)
    if (cost > share) return share
    left -= cost
  }
  return bytes
}

/**
 * Collects the webhooks that get an event of this round in a new message. Nothing is collected if no event may have been
 * sent, as usual.
 */
function gatheringIdsOf(events: readonly WaitingEvent[]) {
  const ids = new Set<string>()
  const isNeeded = events.some(({ sentTo }) => sentTo !== null)
  return {
    has: (id: string) => ids.has(id),
    add({ sentTo }: WaitingEvent, recipients: readonly Subscriber[]) {
      if (isNeeded) for (const { id } of recipients) if (id !== sentTo) ids.add(id)
    },
  }
}

/** Returns the subscribers that are to get the event and have not got it yet. */
function recipientsOf({ siteId, routedTo }: WaitingEvent, subscribers: readonly Subscriber[]): readonly Subscriber[] {
  return subscribers.filter(
    (subscriber) =>
      (subscriber.siteId === null || subscriber.siteId === siteId) && (routedTo === null || subscriber.id > routedTo),
  )
}
