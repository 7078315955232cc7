import type { Clock } from '../../platform/time/clock.ts'
import { isObject } from '../../platform/json/is-object.ts'
import { Cutter, type RequestSignal } from '../../platform/outbound/cutter.ts'
import { HEADER_VALUE } from '../../platform/outbound/header-syntax.ts'
import { type OutboundHttp, type OutboundResult, lateText } from '../../platform/outbound/outbound-http.ts'
import { sha256Hex } from '../../platform/secrets.ts'
import type { Deadlines } from '../../platform/time/deadlines.ts'
import { type TokenGrant, encodeAssertion, encodeClient } from './oauth2.ts'
import { SharedRequest } from './shared-request.ts'
import { withoutQuery } from './without-query.ts'

/** `failed`: the token server gave none; `aborted`: by the signal. */
export type TokenResult =
  | {
      readonly kind: 'token'
      readonly token: string
      /** False: it existed before the call, so the receiver may refuse it although it would accept a new one. */
      readonly isNew: boolean
    }
  | { readonly kind: 'failed'; readonly error: string; readonly remoteAddress: null }
  | { readonly kind: 'aborted' }

export interface TokenRequest {
  readonly orgId: string
  readonly webhookId: string
  readonly grant: TokenGrant
  readonly verifyCert: boolean
  /** The limit for this call, also if it waits for a request that another one has started. */
  readonly timeoutMs: number
  readonly signal: RequestSignal
}

/** The access tokens of webhooks, each until it expires. They are in memory only. */
export interface AccessTokens {
  /**
   * Returns the token of a webhook. Calls while it is requested wait for the same request, each until its own signal and within
   * its own time.
   */
  get(request: TokenRequest): Promise<TokenResult>
  /** Forgets a token that the receiver has refused. A newer one stays. */
  forget(webhookId: string, token: string): void
}

interface Held {
  /** The hash of the grant and of whether the certificate of the server is checked: a change of them needs another token. */
  readonly grantHash: string
  readonly request: SharedRequest<Granted>
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

interface AccessTokenParts {
  readonly clock: Clock
  readonly deadlines: Deadlines
  readonly outbound: OutboundHttp
}

export function createAccessTokens({ clock, deadlines, outbound }: AccessTokenParts): AccessTokens {
  const held = new Map<string, Held>()

  /** Returns the request that gives the token, or that gave one which is still usable. */
  function findHeld(webhookId: string, grantHash: string): SharedRequest<Granted> | null {
    const known = held.get(webhookId)
    if (known?.grantHash !== grantHash) return null
    const { isRunning, result } = known.request
    const isUsable = result?.kind === 'token' && result.usableUntilMs > clock.now().getTime()
    return isRunning || isUsable ? known.request : null
  }

  function start(token: TokenRequest, grantHash: string): SharedRequest<Granted> {
    const request = new SharedRequest((signal) => requestToken(clock, outbound, { ...token, signal }))
    held.delete(token.webhookId)
    held.set(token.webhookId, { grantHash, request })
    const [oldest] = held.keys()
    if (held.size > MAX_TOKENS && oldest !== undefined) held.delete(oldest)
    return request
  }

  return {
    async get(token) {
      const { webhookId, grant, verifyCert, signal } = token
      if (signal.aborted) return { kind: 'aborted' }
      const grantHash = sha256Hex(JSON.stringify({ ...grant, url: grant.url.href, verifyCert }))
      const request = findHeld(webhookId, grantHash) ?? start(token, grantHash)
      const isNew = request.isRunning
      const result = await waitFor(request, deadlines, token)
      return result.kind === 'token' ? { kind: 'token', token: result.token, isNew } : result
    },
    forget(webhookId, token) {
      const result = held.get(webhookId)?.request.result
      if (result?.kind === 'token' && result.token === token) held.delete(webhookId)
    },
  }
}

/** Waits for a request until the signal or the time limit of this call. */
async function waitFor(
  request: SharedRequest<Granted>,
  deadlines: Deadlines,
  { grant, timeoutMs, signal }: TokenRequest,
): Promise<Granted> {
  const cutter = new Cutter()
  const cut = { handleEvent: () => cutter.abort() }
  const deadline = deadlines.add(timeoutMs, { expire: () => cutter.abort() })
  signal.addEventListener('abort', cut)
  try {
    const result = await request.wait(cutter)
    if (result !== null) return result
    return signal.aborted ? { kind: 'aborted' } : failure(grant, lateText(timeoutMs))
  } finally {
    deadline.cancel()
    signal.removeEventListener('abort', cut)
  }
}

async function requestToken(clock: Clock, outbound: OutboundHttp, request: TokenRequest): Promise<Granted> {
  const { orgId, grant, verifyCert, timeoutMs, signal } = request
  const sentAt = clock.now()
  const form = completeForm(grant, sentAt)
  if (form === null) return failure(grant, 'the private key of the service account cannot sign')
  const result = await outbound.send({
    url: grant.url.href,
    method: 'POST',
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      Accept: 'application/json',
      'Accept-Encoding': 'identity',
      ...(grant.client !== null && { Authorization: encodeClient(grant.client) }),
    },
    body: Buffer.from(new URLSearchParams(form).toString()),
    verifyCert,
    timeoutMs,
    signal,
    owner: orgId,
  })
  if (result.kind === 'aborted') return result
  const answer = readToken(result)
  if (typeof answer === 'string') return failure(grant, answer)
  return { kind: 'token', token: answer.token, usableUntilMs: sentAt.getTime() + answer.validS * 1000 - MARGIN_MS }
}

/** Returns the form with its signed statement; null if the key that a client gave can't sign. */
function completeForm({ form, assertion, url }: TokenGrant, at: Date): Record<string, string> | null {
  if (assertion === null) return form
  try {
    return { ...form, assertion: encodeAssertion(assertion, url, at) }
  } catch {
    // Webhooks of earlier releases may have any key. The message of OpenSSL says nothing to their owners.
    return null
  }
}

function failure({ url }: TokenGrant, why: string): Granted {
  return { kind: 'failed', error: `no access token from ${withoutQuery(url.href)}: ${why}`, remoteAddress: null }
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
