import { BREAKER_FAILURES } from './decide-lane.ts'

/** What the state of a webhook depends on. */
export interface WebhookSigns {
  readonly enabled: boolean
  readonly pending: number
  /** Failed attempts since the last success. */
  readonly failures: number
  /** Until then only pings are sent: the breaker is open, or the receiver has asked for a pause. */
  readonly openUntil: Date | null
  readonly lastError: string | null
}

/**
 * `disabled`: nothing but pings is sent. `paused`: the receiver has asked for a pause, or has failed so often that one
 * probe follows each pause. `failing`: the last attempt failed, and others follow.
 */
export type WebhookState = 'healthy' | 'failing' | 'paused' | 'disabled'

/** Decides the state of a webhook, with the reason as a sentence; null for a healthy one. */
export function decideState(signs: WebhookSigns): { readonly state: WebhookState; readonly reason: string | null } {
  const { enabled, pending, failures, openUntil, lastError } = signs
  const waiting = pending === 1 ? '1 message waits' : `${pending} messages wait`
  if (!enabled) return { state: 'disabled', reason: `The webhook is disabled, and ${waiting}` }
  if (failures < BREAKER_FAILURES && openUntil !== null)
    return { state: 'paused', reason: `The receiver has asked for a pause, and ${waiting}` }
  if (failures === 0) return { state: 'healthy', reason: null }
  const last = lastError === null ? '' : `: ${lastError}`
  const times = failures === 1 ? 'The last attempt failed' : `The last ${failures} attempts failed`
  return { state: openUntil === null ? 'failing' : 'paused', reason: `${times}, and ${waiting}${last}` }
}
