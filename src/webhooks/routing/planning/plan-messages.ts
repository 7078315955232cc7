import { deviceKeyOf } from '../device-key.ts'
import type { Subscriber } from './plan-round.ts'

/** An event with the webhooks that receive it in this round; its JSON text is passed on unchanged. */
export interface RoutedEvent {
  readonly id: string
  readonly orgId: string
  readonly topic: string
  readonly json: string
  readonly recipients: readonly Subscriber[]
  /** The webhook that may have received the event in a message of its own, with the id of the event; null if none. */
  readonly sentTo: string | null
}

/** One future POST request. */
export interface PlannedMessage {
  readonly id: string
  readonly orgId: string
  readonly webhookId: string
  readonly topic: string
  readonly body: Buffer
  readonly eventCount: number
  /** The device of its events; null unless the webhook gets those of each device in order. */
  readonly orderKey: string | null
}

interface MessageGroup {
  readonly subscriber: Subscriber
  readonly orderKey: string | null
  /** The id of the message, if it may have been sent already. */
  readonly sentId: string | null
  readonly events: RoutedEvent[]
}

/** Limits the events of a message. */
export const MAX_MESSAGE_EVENTS = 100
/** Limits the total size of a message's events; a larger event gets a separate message. */
const MAX_BYTES = 256 * 1024

/**
 * Groups events into messages: each event once per recipient, one topic per message, and for some recipients one device per
 * message, in the order of `events`. Messages with the same events share their body. What may have been sent already gets
 * the same id and body again.
 */
export function planMessages(events: readonly RoutedEvent[], newId: () => string): PlannedMessage[] {
  const bodyOf = shareBodies(events)
  const groups = new Map<string, MessageGroup>()
  for (const event of events) {
    const deviceKey = event.recipients.some(({ byDevice }) => byDevice) ? deviceKeyOf(JSON.parse(event.json)) : null
    for (const subscriber of event.recipients) {
      const orderKey = subscriber.byDevice ? deviceKey : null
      const sentId = event.sentTo === subscriber.id ? event.id : null
      const key = `${subscriber.id} ${event.topic} ${orderKey ?? ''} ${sentId ?? ''}`
      const known = groups.get(key)
      if (known === undefined) groups.set(key, { subscriber, orderKey, sentId, events: [event] })
      else known.events.push(event)
    }
  }
  return [...groups.values()].flatMap(({ subscriber, orderKey, sentId, events: all }) =>
    batches(all, subscriber.singleEvent).map(({ topic, batch }) => ({
      id: sentId ?? newId(),
      orgId: subscriber.orgId,
      webhookId: subscriber.id,
      topic,
      body: bodyOf(topic, batch),
      eventCount: batch.length,
      orderKey,
    })),
  )
}

function shareBodies(events: readonly RoutedEvent[]): (topic: string, batch: readonly RoutedEvent[]) => Buffer {
  const places = new Map(events.map((event, place) => [event, place]))
  const bodies = new Map<string, Buffer>()
  return (topic, batch) => {
    const key = batch.map((event) => places.get(event)).join(' ')
    const body = bodies.get(key) ?? messageBody(topic, batch)
    bodies.set(key, body)
    return body
  }
}

/** Returns the body of a message, built from the JSON texts of its events. */
export function messageBody(topic: string, events: readonly { readonly json: string }[]): Buffer {
  return Buffer.from(`{"topic":${JSON.stringify(topic)},"events":[${events.map(({ json }) => json).join(',')}]}`)
}

function batches(
  events: readonly RoutedEvent[],
  single: boolean,
): readonly { readonly topic: string; readonly batch: RoutedEvent[] }[] {
  const all: { topic: string; batch: RoutedEvent[] }[] = []
  let bytes = 0
  for (const event of events) {
    const size = Buffer.byteLength(event.json)
    const last = all.at(-1)?.batch
    if (last === undefined || single || last.length >= MAX_MESSAGE_EVENTS || bytes + size > MAX_BYTES) {
      all.push({ topic: event.topic, batch: [event] })
      bytes = size
    } else {
      last.push(event)
      bytes += size
    }
  }
  return all
}
