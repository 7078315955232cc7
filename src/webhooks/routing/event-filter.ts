import { type JsonPath, type ListedMembers, selectsAny } from '../../platform/json/json-path.ts'
import { JsonPathError, parseJsonPath } from '../../platform/json/parse-json-path.ts'
import type { Steps } from '../../platform/queues/next-turn.ts'
import type { Subscriber } from './planning/plan-round.ts'

/** Returns the subscribers whose filters the event passes. */
export type EventFilter = (event: FilteredEvent, recipients: readonly Subscriber[]) => Steps<readonly Subscriber[]>

export interface FilteredEvent {
  readonly topic: string
  /** The JSON text of the event. */
  readonly json: string
}

/**
 * Returns the filter for one round of the router. A filter is a JSONPath that an event passes if it selects anything in
 * a message with only this event. Each filter is parsed once, and each event only if a filter needs it.
 */
export function createEventFilter(): EventFilter {
  const paths = new Map<string, JsonPath>()

  function pathOf(filter: string): JsonPath {
    const path = paths.get(filter) ?? parseStored(filter)
    paths.set(filter, path)
    return path
  }

  return function* filterRecipients({ topic, json }, recipients) {
    if (recipients.every(({ filter }) => filter === null)) return recipients
    const message = { topic, events: [JSON.parse(json) as unknown] }
    const members: ListedMembers = new Map()
    const passed: Subscriber[] = []
    for (const recipient of recipients) {
      if (recipient.filter === null || selectsAny(pathOf(recipient.filter), message, members)) passed.push(recipient)
      yield
    }
    return passed
  }
}

/** Earlier releases stored any field of this name and ignored it. */
function parseStored(filter: string): JsonPath {
  try {
    return parseJsonPath(filter)
  } catch (error) {
    if (error instanceof JsonPathError) return everything
    throw error
  }
}

const everything: JsonPath = []
