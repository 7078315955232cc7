import { isObject } from '../../platform/json/is-object.ts'

/** A client's request to the stream. */
export type StreamRequest =
  | { readonly kind: 'subscribe'; readonly channel: string; readonly after: number | null }
  | { readonly kind: 'unsubscribe'; readonly channel: string }
  | { readonly kind: 'ping' }
  | { readonly kind: 'malformed'; readonly why: string }

const MAX_CHANNEL = 300

/**
 * Parses `{"subscribe": "/sites/{site_id}/devices", "after": 17}`, where `after` is the `seq` of the last message that the
 * client has, `{"unsubscribe": ...}`, and `{"ping": true}`.
 */
export function decodeRequest(text: string): StreamRequest {
  let message: unknown
  try {
    message = JSON.parse(text)
  } catch {
    return malformed('A message must be a JSON object')
  }
  if (!isObject(message)) return malformed('A message must be a JSON object')
  const { subscribe, unsubscribe, ping, after = null, ...others } = message
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) return malformed(`Unknown member ${unknown.slice(0, 50)}`)
  if ([subscribe, unsubscribe, ping].filter((member) => member !== undefined).length !== 1)
    return malformed('A message must have one of subscribe, unsubscribe and ping')
  if (after !== null && subscribe === undefined) return malformed('Only subscribe takes after')
  if (ping !== undefined) return ping === true ? { kind: 'ping' } : malformed('ping must be true')
  const channel = subscribe ?? unsubscribe
  if (typeof channel !== 'string' || channel.length > MAX_CHANNEL)
    return malformed(`A channel must be a text of at most ${MAX_CHANNEL} characters`)
  if (subscribe === undefined) return { kind: 'unsubscribe', channel }
  if (after === null || (typeof after === 'number' && Number.isSafeInteger(after)))
    return { kind: 'subscribe', channel, after }
  return malformed('after must be the seq of a message')
}

function malformed(why: string): StreamRequest {
  return { kind: 'malformed', why }
}
