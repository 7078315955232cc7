import type { Binding } from './binding.ts'
import type { CodeSecrets, Flow, FlowSecrets } from './flow.ts'

/** The query of the provider's redirect; see RFC 6749, section 4.1.2, and RFC 9207. */
export interface CallbackQuery {
  readonly state?: string
  readonly code?: string
  readonly iss?: string
  readonly error?: string
  readonly error_description?: string
}

export interface Callback {
  readonly query: CallbackQuery
  /** The provider in the path that was called. */
  readonly provider: string
  readonly client: { readonly issuer: string; readonly sendsIss: boolean }
  /** The bindings that the browser proves by its cookies. */
  readonly proven: readonly Binding[]
  readonly now: Date
}

export type CallbackDecision =
  | { readonly kind: 'refuse'; readonly why: string }
  | { readonly kind: 'answer'; readonly secrets: CodeSecrets }

const refuse = (why: string): CallbackDecision => ({ kind: 'refuse', why })

/** Decides whether a request to our redirect URI answers `flow`, and what our code then represents. */
export function decideCallback(flow: (Flow & FlowSecrets) | undefined, callback: Callback): CallbackDecision {
  const { query, provider, client, proven, now } = callback
  const { state, code, iss, error } = query
  if (flow === undefined || state === undefined || flow.expiresAt <= now)
    return refuse('The sign-in is unknown, used or expired')
  // The answer comes from another provider than the flow's: a mix-up attack (RFC 9700, 4.4).
  if (flow.provider !== provider) return refuse('The sign-in was begun at another provider')
  if (iss === undefined ? client.sendsIss : iss !== client.issuer)
    return refuse('The answer comes from another provider')
  if (!flow.script && !proven.some((binding) => binding.equals(flow.bound)))
    return refuse('The sign-in was begun in another browser or session')
  const { nonce, verifier, script } = flow
  if (error !== undefined) {
    const description = query.error_description ?? 'The provider refused'
    return { kind: 'answer', secrets: { kind: 'denied', error, description, script } }
  }
  if (code === undefined) return refuse('The provider answered with neither a code nor an error')
  return {
    kind: 'answer',
    secrets: { kind: 'granted', code, state, nonce, verifier, script, ...(iss !== undefined && { iss }) },
  }
}
