/** An event as it waits in the outbox; its JSON text is passed through as it is. */
export interface OutboxEvent {
  readonly id: string
  readonly orgId: string
  readonly siteId: string | null
  readonly topic: string
  readonly json: string
}

export interface Subscriber {
  readonly orgId: string
  readonly id: string
  /** Null for an organization's webhook, which hears of all sites. */
  readonly siteId: string | null
  readonly topics: readonly string[]
  readonly singleEvent: boolean
}

/** One POST to be. */
export interface PlannedMessage {
  readonly id: string
  readonly orgId: string
  readonly webhookId: string
  readonly topic: string
  readonly body: Buffer
  readonly eventCount: number
}

const MAX_EVENTS = 100
/** Of the events together; a single event that is larger goes alone. */
const MAX_BYTES = 256 * 1024

/**
 * Joins events to messages: every event once for every subscriber to its topic and place, topics
 * apart, in the order of `events`.
 */
export function planMessages(
  events: readonly OutboxEvent[],
  subscribers: readonly Subscriber[],
  newId: () => string,
): PlannedMessage[] {
  const byOrgAndTopic = Map.groupBy(events, ({ orgId, topic }) => `${orgId} ${topic}`)
  return subscribers.flatMap((subscriber) =>
    [...new Set(subscriber.topics)].flatMap((topic) => {
      const ofTopic = byOrgAndTopic.get(`${subscriber.orgId} ${topic}`) ?? []
      const heard = ofTopic.filter(({ siteId }) => subscriber.siteId === null || subscriber.siteId === siteId)
      return batches(heard, subscriber.singleEvent).map((batch) => ({
        id: newId(),
        orgId: subscriber.orgId,
        webhookId: subscriber.id,
        topic,
        body: messageBody(topic, batch),
        eventCount: batch.length,
      }))
    }),
  )
}

/** The body of a message, from the JSON texts of its events. */
export function messageBody(topic: string, events: readonly { readonly json: string }[]): Buffer {
  return Buffer.from(`{"topic":${JSON.stringify(topic)},"events":[${events.map(({ json }) => json).join(',')}]}`)
}

function batches(events: readonly OutboxEvent[], single: boolean): OutboxEvent[][] {
  const all: OutboxEvent[][] = []
  let bytes = 0
  for (const event of events) {
    const size = Buffer.byteLength(event.json)
    const last = all.at(-1)
    if (last === undefined || single || last.length >= MAX_EVENTS || bytes + size > MAX_BYTES) {
      all.push([event])
      bytes = size
    } else {
      last.push(event)
      bytes += size
    }
  }
  return all
}
