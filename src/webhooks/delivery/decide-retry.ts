/** The result of one attempt. */
export interface Attempted {
  /** Counts from 1, without earlier attempts whose answers requested a pause. */
  readonly attempt: number
  readonly topic: string
  /** Null when the receiver sent no response. */
  readonly status: number | null
  /** The header as received. */
  readonly retryAfter: string | null
  readonly at: Date
}

export type Verdict =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly afterMs: number }
  /** The receiver requests a pause: the message is sent again after it, and this attempt does not count. */
  | { readonly kind: 'pause'; readonly afterMs: number }
  | { readonly kind: 'give_up' }
  /** The receiver refuses further messages: the webhook must be disabled, and the message stays. */
  | { readonly kind: 'gone' }

const S = 1000
const M = 60 * S
const H = 60 * M
/** Pauses after the first, second, ... attempt. */
const pauses = [5 * S, 30 * S, 2 * M, 10 * M, 30 * M, H, 2 * H, 4 * H, 8 * H, 12 * H, 24 * H] as const
/** A date may be a moment away, and its receiver would then be asked again and again without a pause. */
const MIN_RETRY_AFTER_MS = S
const MAX_RETRY_AFTER_MS = 24 * H

export const MAX_ATTEMPTS = pauses.length + 1

/** @param random 0 to 1; varies the pauses by a fifth, so that messages that failed together are retried apart. */
export function decideRetry(attempted: Attempted, random: number): Verdict {
  const { attempt, topic, status } = attempted
  if (status !== null && isSuccess(status)) return { kind: 'delivered' }
  // The person who requested a ping needs its result now, not that of a later retry.
  if (topic === 'ping') return { kind: 'give_up' }
  if (isGone(status)) return { kind: 'gone' }
  const askedMs = askedPauseMs(attempted)
  if (askedMs > 0) return { kind: 'pause', afterMs: askedMs }
  const pause = pauses[attempt - 1]
  if (pause === undefined) return { kind: 'give_up' }
  return { kind: 'retry', afterMs: Math.round(pause * (0.8 + 0.4 * random)) }
}

/** True if the receiver refuses all further messages. */
export function isGone(status: number | null): boolean {
  return status === 410
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299
}

/** Returns the pause that Retry-After (seconds or a date) requests; 0 if absent, over or invalid. RFC 9110, 10.2.3. */
export function askedPauseMs({ status, retryAfter, at }: Pick<Attempted, 'status' | 'retryAfter' | 'at'>): number {
  if (retryAfter === null || (status !== 429 && status !== 503)) return 0
  const text = retryAfter.trim()
  const ms = /^\d+$/.test(text) ? Number(text) * S : httpDate(text) - at.getTime()
  return ms > 0 ? Math.min(Math.max(ms, MIN_RETRY_AFTER_MS), MAX_RETRY_AFTER_MS) : 0
}

/** The only form of a date without a zone. It means GMT, but `Date.parse` takes it for local time. RFC 9110, 5.6.7. */
const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/

/** `Date.parse` accepts almost any text with a number in it. */
function httpDate(text: string): number {
  if (ASCTIME.test(text)) return Date.parse(`${text} GMT`)
  return /^[A-Z][a-z]{2,8}, .*GMT$/.test(text) ? Date.parse(text) : Number.NaN
}
