import { counted } from '../../platform/counted.ts'
import { BREAKER_FAILURES } from '../lanes/decide-lane.ts'
import { type Disabled, serviceReasons } from './disabled.ts'

/** The facts that determine the state of a webhook. */
export interface WebhookSigns {
  readonly enabled: boolean
  /** Null also if it was disabled before the service recorded why. */
  readonly disabledWhy: Disabled['why'] | null
  /** `unsent`: this release has no events of any of its topics. */
  readonly topics: 'none' | 'unsent' | 'sent'
  /** True if the webhook has a rate limit, which pauses it too. */
  readonly isLimited: boolean
  readonly pending: number
  readonly isPendingExact: boolean
  /** Messages that were given up, and can be replayed; counted up to MAX_PARKED. */
  readonly parked: number
  /** Failed attempts since the last success. */
  readonly failures: number
  /** The time until which only pings are sent: the breaker is open, or the receiver has requested a pause. */
  readonly openUntil: Date | null
  readonly lastError: string | null
  /** Since when a receiver that should fetch has acknowledged nothing, if that is longer than a day; null for any other. */
  readonly unfetchedSince: Date | null
  /** When the last message was dropped, because too many waited. */
  readonly overflowedAt: Date | null
}

/** How long a webhook counts as overflowing after a message was dropped. */
export const OVERFLOWING_MS = 3600e3

/** The waiting messages of a lane that is held are counted up to this number; a larger one may be up to 200 too high. */
export const MAX_COUNTED = 1000

/** Parked messages are counted up to this number. */
export const MAX_PARKED = 10_000

/**
 * `disabled`: only pings are sent. `paused`: the receiver has requested a pause, or has failed so often that one probe
 * follows each pause. `failing`: the last attempt failed, and others follow, or messages that are fetched were not acknowledged for a day.
 * `overflowing`: the receiver accepts messages, but others are dropped, because too many wait for the webhook or its
 * organization. `idle`: the webhook has no topics, or none that is sent yet, so no event becomes a message to it.
 */
export type WebhookState = 'healthy' | 'idle' | 'overflowing' | 'failing' | 'paused' | 'disabled'

interface DecidedState {
  readonly state: WebhookState
  readonly reason: string | null
}

/** A rate limit sends at least one message per minute. */
const MAX_LIMIT_PAUSE_MS = 60_000

const idleReasons = {
  none: 'The webhook has no topics, so it never gets a message except test messages',
  unsent: 'None of its topics is sent yet, so the webhook never gets a message except test messages',
} as const

const OVERFLOWING =
  'Messages were dropped within the last hour, because too many waited for the webhook or its organization'

/** Decides the state of a webhook, with the reason as a sentence; null for a healthy one. */
export function decideState(signs: WebhookSigns, now: Date): DecidedState {
  const { enabled, disabledWhy, isLimited, pending, isPendingExact, parked, failures, lastError } = signs
  const openUntil = openUntilOf(signs, now)
  const count = isPendingExact ? pending : `about ${pending}`
  const others = parked === 0 ? '' : ` (${parkedText(parked)} can be replayed)`
  const waiting = `${pending === 1 ? '1 message waits' : `${count} messages wait`}${others}`
  if (!enabled) return { state: 'disabled', reason: `${disabledText(disabledWhy)}, and ${waiting}` }
  const last = lastError === null ? '' : `: ${lastError}`
  if (signs.unfetchedSince !== null) {
    const since = signs.unfetchedSince.toISOString()
    return { state: 'failing', reason: `The receiver has acknowledged no message since ${since}, and ${waiting}` }
  }
  if (failures === 0) {
    if (openUntil === null || (isLimited && pending === 0)) return decideWorking(signs, now)
    // Only an answer that requests a pause is a failed attempt that does not count.
    if (isLimited && lastError === null && openUntil.getTime() - now.getTime() <= MAX_LIMIT_PAUSE_MS)
      return { state: 'paused', reason: `The rate limit delays messages, and ${waiting}` }
    return { state: 'paused', reason: `The receiver has requested a pause, and ${waiting}${last}` }
  }
  const times = failures === 1 ? 'The last attempt failed' : `The last ${failures} attempts failed`
  return { state: openUntil === null ? 'failing' : 'paused', reason: `${times}, and ${waiting}${last}` }
}

function parkedText(parked: number): string {
  const text = counted(parked, 'undelivered one')
  return parked < MAX_PARKED ? text : `at least ${text}`
}

/** Decides the state of a webhook of which no attempt has failed. */
function decideWorking({ topics, overflowedAt }: WebhookSigns, now: Date): DecidedState {
  if (overflowedAt !== null && now.getTime() - overflowedAt.getTime() <= OVERFLOWING_MS)
    return { state: 'overflowing', reason: OVERFLOWING }
  return topics === 'sent' ? { state: 'healthy', reason: null } : { state: 'idle', reason: idleReasons[topics] }
}

function disabledText(why: WebhookSigns['disabledWhy']): string {
  if (why === 'request') return 'An administrator has disabled the webhook'
  return why === null ? 'The webhook is disabled' : `The webhook is disabled, because ${serviceReasons[why]}`
}

/**
 * Returns the time until which only pings are sent; null if messages are sent. A pause that the receiver requested ends
 * by itself, although its end stays in the row until a message is sent. The breaker stays open until a probe succeeds.
 */
export function openUntilOf(
  { failures, openUntil }: Pick<WebhookSigns, 'failures' | 'openUntil'>,
  now: Date,
): Date | null {
  return failures < BREAKER_FAILURES && openUntil !== null && openUntil <= now ? null : openUntil
}
