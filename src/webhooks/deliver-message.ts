import { uuidv7 } from 'uuidv7'
import { addMs } from '../platform/clock.ts'
import type { Context } from '../platform/context.ts'
import type { OutboundHttp, OutboundResult } from '../platform/outbound-http.ts'
import type { AccessTokens } from './access-tokens.ts'
import type { TokenGrant } from './oauth2.ts'
import { type Verdict, askedPauseMs, decideRetry } from './decide-retry.ts'
import { signatureHeaders } from './sign.ts'
import type { ClaimedLane, DeliveryRecord, DueMessage } from './store-deliver.ts'
import { customHeaders, openWebhookSecrets, secretOf, tokenGrantOf } from './webhook.ts'

export interface DeliverOptions {
  readonly outbound: OutboundHttp
  readonly tokens: AccessTokens
  /** The limit for one attempt, from the first packet to the last. */
  readonly timeoutMs: number
  /** 0 to 1. */
  readonly random: () => number
}

/** The address of a lane's messages, with the secrets and headers to send. */
export interface Receiver {
  readonly orgId: string
  readonly webhookId: string
  readonly siteId: string | null
  readonly url: string
  readonly verifyCert: boolean
  /** The signing secrets: the current one first, then the recently replaced one. */
  readonly secrets: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  /** Null if the receiver takes no access tokens. */
  readonly grant: TokenGrant | null
}

export interface Attempt {
  readonly verdict: Verdict
  /** The pause that the receiver asks for; 0 if it asks for none. */
  readonly askedMs: number
  readonly record: DeliveryRecord
}

const USER_AGENT = 'Signalbox-Webhooks/1'

export function receiverOf(ctx: Context, { orgId, webhookId, webhook }: ClaimedLane): Receiver {
  const { fields, retired } = openWebhookSecrets(ctx.secrets, webhookId, webhook.secrets)
  const secret = secretOf(fields)
  const retiredSecret = retired !== null && retired.untilMs > ctx.clock.now().getTime() ? [retired.secret] : []
  return {
    orgId,
    webhookId,
    siteId: webhook.siteId,
    url: String(webhook.doc['url']),
    verifyCert: webhook.doc['verify_cert'] !== false,
    secrets: secret === null ? [] : [secret, ...retiredSecret],
    headers: {
      ...customHeaders(webhook.doc),
      ...(webhook.doc['type'] === 'splunk' && { Authorization: `Splunk ${String(fields?.['splunk_token'])}` }),
    },
    grant: tokenGrantOf(webhook.doc, fields),
  }
}

interface Delivery {
  readonly receiver: Receiver
  readonly message: DueMessage
  readonly signal: AbortSignal
}

/** Makes one attempt. Returns null when `signal` aborted it: the outcome is unknown, and the attempt does not count. */
export async function deliverMessage(
  ctx: Context,
  options: DeliverOptions,
  delivery: Delivery,
): Promise<Attempt | null> {
  const { receiver, message } = delivery
  const at = ctx.clock.now()
  const headers = {
    ...withDefaults(receiver.headers),
    'Accept-Encoding': 'identity',
    ...signatureHeaders(receiver.secrets, { messageId: message.id, at, body: message.body }),
  }
  const startedMs = performance.now()
  const result = await send(options, delivery, headers)
  if (result.kind === 'aborted') return null
  const attempt = message.attempt + 1
  const status = result.kind === 'answer' ? result.status : null
  const asked = { attempt, topic: message.topic, status, retryAfter: retryAfterOf(result), at }
  const verdict = decideRetry(asked, options.random())
  return {
    verdict,
    askedMs: askedPauseMs(asked),
    record: {
      orgId: receiver.orgId,
      id: uuidv7(),
      webhookId: receiver.webhookId,
      messageId: message.id,
      siteId: receiver.siteId,
      topic: message.topic,
      attempt,
      status: verdict.kind === 'delivered' ? 'success' : 'failure',
      statusCode: status,
      error: errorOf(result),
      reqUrl: receiver.url,
      createdAt: at,
      durationMs: Math.round(performance.now() - startedMs),
      final: verdict.kind === 'delivered' || verdict.kind === 'give_up',
      nextAttempt: verdict.kind === 'retry' ? addMs(at, verdict.afterMs) : null,
      exchange: {
        reqHeaders: JSON.stringify({ ...headers, ...hidden(receiver.headers) }),
        reqPayload: message.body.toString('utf8'),
        ...answerOf(result),
      },
    },
  }
}

/** Sends the message, with an access token where the receiver takes one. Without a token nothing is sent. */
async function send(
  { outbound, tokens, timeoutMs }: DeliverOptions,
  { receiver, message, signal }: Delivery,
  headers: Readonly<Record<string, string>>,
): Promise<OutboundResult> {
  const { orgId, webhookId, grant, url, verifyCert } = receiver
  const granted = grant && (await tokens.get({ orgId, webhookId, grant, verifyCert, timeoutMs, signal }))
  if (granted !== null && granted.kind !== 'token') return granted
  const result = await outbound.send({
    url,
    method: 'POST',
    headers: granted === null ? headers : withToken(headers, granted.token),
    body: message.body,
    verifyCert,
    timeoutMs,
    signal,
    // Receivers recognize a message by its id.
    mayArriveTwice: true,
    owner: orgId,
  })
  // The token may have been revoked before its time.
  if (result.kind === 'answer' && result.status === 401) tokens.forget(webhookId)
  return result
}

/** Names of headers have no case: a custom one would be sent beside the token. */
function withToken(headers: Readonly<Record<string, string>>, token: string): Record<string, string> {
  const others = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization')
  return { ...Object.fromEntries(others), Authorization: `Bearer ${token}` }
}

type Outcome = Exclude<OutboundResult, { kind: 'aborted' }>

function retryAfterOf(result: Outcome): string | null {
  const value = result.kind === 'answer' ? result.headers['retry-after'] : undefined
  return typeof value === 'string' ? value : null
}

function errorOf(result: Outcome): string | null {
  if (result.kind === 'failed') return storable(result.error)
  return result.status >= 200 && result.status <= 299 ? null : `answered ${result.status}`
}

function answerOf(result: Outcome): Pick<DeliveryRecord['exchange'], 'respHeaders' | 'respBody'> {
  if (result.kind === 'failed') return { respHeaders: null, respBody: null }
  return {
    respHeaders: storable(JSON.stringify(result.headers)),
    respBody: storable(result.body.toString('utf8')),
  }
}

/** PostgreSQL can't store NUL in a text. */
function storable(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed()
}

/** Names of headers have no case: a second spelling would be sent beside the first. */
function withDefaults(custom: Readonly<Record<string, string>>): Record<string, string> {
  const names = new Set(Object.keys(custom).map((name) => name.toLowerCase()))
  const defaults = { 'User-Agent': USER_AGENT, 'Content-Type': 'application/json' }
  return {
    ...Object.fromEntries(Object.entries(defaults).filter(([name]) => !names.has(name.toLowerCase()))),
    ...custom,
  }
}

/** Anyone who may read can see the record, but not credentials for the receiver, which custom headers often are. */
function hidden(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.keys(headers).map((name) => [name, '***']))
}
