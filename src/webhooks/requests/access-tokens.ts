import type { Clock } from '../../platform/time/clock.ts'
import { isObject } from '../../platform/json/is-object.ts'
import type { RequestSignal } from '../../platform/outbound/cutter.ts'
import { HEADER_VALUE } from '../../platform/outbound/header-syntax.ts'
import type { OutboundHttp, OutboundResult } from '../../platform/outbound/outbound-http.ts'
import { sha256Hex } from '../../platform/secrets.ts'
import { type TokenGrant, encodeAssertion, encodeClient } from './oauth2.ts'

/** `failed`: the token server gave none; `aborted`: by the signal. */
export type TokenResult =
  | {
      readonly kind: 'token'
      readonly token: string
      /** False: it existed before, so the receiver may refuse it although it would accept a new one. */
      readonly isNew: boolean
    }
  | { readonly kind: 'failed'; readonly error: string; readonly remoteAddress: null }
  | { readonly kind: 'aborted' }

export interface TokenRequest {
  readonly orgId: string
  readonly webhookId: string
  readonly grant: TokenGrant
  readonly verifyCert: boolean
  readonly timeoutMs: number
  readonly signal: RequestSignal
}

/** The access tokens of webhooks, each until it expires. They are in memory only. */
export interface AccessTokens {
  get(request: TokenRequest): Promise<TokenResult>
  /** Forgets a token that the receiver has refused. */
  forget(webhookId: string): void
}

interface Held {
  /** The hash of the grant: other credentials need another token. */
  readonly grantHash: string
  readonly result: Promise<Granted>
}

type Granted = Exclude<TokenResult, { kind: 'token' }> | { kind: 'token'; token: string; usableUntilMs: number }

/** More than the number of webhooks with concurrent deliveries; the oldest token is dropped first. */
const MAX_TOKENS = 10_000
/** Common servers accept as much in one header. Tokens with many claims have thousands of characters. */
const MAX_TOKEN_LENGTH = 8000
/** The default if the server does not report how long a token is valid. */
const DEFAULT_VALID_S = 300
/** A token is not sent shortly before it expires. */
const MARGIN_MS = 10_000

export function createAccessTokens(clock: Clock, outbound: OutboundHttp): AccessTokens {
  const held = new Map<string, Held>()

  async function getHeld({ webhookId }: TokenRequest, grantHash: string): Promise<Granted | null> {
    const known = held.get(webhookId)
    if (known?.grantHash !== grantHash) return null
    const result = await known.result
    const isUsable = result.kind === 'token' && result.usableUntilMs > clock.now().getTime()
    return isUsable ? result : null
  }

  return {
    async get(request) {
      const { webhookId, grant } = request
      const grantHash = sha256Hex(JSON.stringify({ ...grant, url: grant.url.href }))
      const known = await getHeld(request, grantHash)
      if (known?.kind === 'token') return { kind: 'token', token: known.token, isNew: false }
      const entry = { grantHash, result: requestToken(clock, outbound, request) }
      held.delete(webhookId)
      held.set(webhookId, entry)
      const [oldest] = held.keys()
      if (held.size > MAX_TOKENS && oldest !== undefined) held.delete(oldest)
      const result = await entry.result
      if (result.kind === 'token') return { kind: 'token', token: result.token, isNew: true }
      if (held.get(webhookId) === entry) held.delete(webhookId)
      return result
    },
    forget(webhookId) {
      held.delete(webhookId)
    },
  }
}

async function requestToken(clock: Clock, outbound: OutboundHttp, request: TokenRequest): Promise<Granted> {
  const { orgId, grant, verifyCert, timeoutMs, signal } = request
  const sentAt = clock.now()
  const assertion = grant.assertion && { assertion: encodeAssertion(grant.assertion, grant.url, sentAt) }
  const result = await outbound.send({
    url: grant.url.href,
    method: 'POST',
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      Accept: 'application/json',
      'Accept-Encoding': 'identity',
      ...(grant.client !== null && { Authorization: encodeClient(grant.client) }),
    },
    body: Buffer.from(new URLSearchParams({ ...grant.form, ...assertion }).toString()),
    verifyCert,
    timeoutMs,
    signal,
    owner: orgId,
  })
  if (result.kind === 'aborted') return result
  const answer = readToken(result)
  if (typeof answer === 'string')
    return { kind: 'failed', error: `no access token from ${grant.url.href}: ${answer}`, remoteAddress: null }
  return { kind: 'token', token: answer.token, usableUntilMs: sentAt.getTime() + answer.validS * 1000 - MARGIN_MS }
}

/** Returns the fault of an answer without a token. The answer itself may contain credentials. */
function readToken(
  result: Exclude<OutboundResult, { kind: 'aborted' }>,
): string | { readonly token: string; readonly validS: number } {
  if (result.kind === 'failed') return result.error
  const answer = parseObject(result.body.toString('utf8'))
  if (result.status !== 200) return `answered ${result.status}${errorCodeOf(answer)}`
  const token = answer?.['access_token']
  if (typeof token !== 'string' || token === '') return 'the answer has no access_token'
  if (!HEADER_VALUE.test(token)) return 'the access_token contains characters that headers may not have'
  if (token.length > MAX_TOKEN_LENGTH) return `the access_token is longer than ${MAX_TOKEN_LENGTH} characters`
  const validS = Number(answer?.['expires_in'] ?? DEFAULT_VALID_S)
  return { token, validS: Number.isFinite(validS) ? validS : DEFAULT_VALID_S }
}

/** The code of RFC 6749, 5.2, has no secrets, unlike the rest of the answer. */
function errorCodeOf(answer: Record<string, unknown> | null): string {
  const code = answer?.['error']
  return typeof code === 'string' && /^[a-z_]{1,40}$/.test(code) ? `: ${code}` : ''
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    // Reported as an answer without a token.
    return null
  }
}
