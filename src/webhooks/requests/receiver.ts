import type { KeyObject } from 'node:crypto'
import type { Context } from '../../platform/context.ts'
import type { ClientIdentity } from '../../platform/outbound/outbound-agents.ts'
import { CommonHeaders } from '../../platform/outbound/encode-request.ts'
import type { RequestSignal } from '../../platform/outbound/cutter.ts'
import type { OutboundHttp } from '../../platform/outbound/outbound-http.ts'
import type { Deadlines } from '../../platform/time/deadlines.ts'
import type { AccessTokens } from './access-tokens.ts'
import { parseClientIdentity } from './client-certificate.ts'
import { replaceHeaders } from './headers.ts'
import { createReducer, maskHeaders } from './recorded-headers.ts'
import { storable } from './storable.ts'
import { withoutQuery } from './without-query.ts'
import { type HmacKeys, hmacKeysOf } from '../signing/sign.ts'
import { signersOf } from '../signing/signing-keys.ts'
import type { ClaimedLane } from '../delivery/store.ts'
import type { DueMessage } from '../delivery/store-due.ts'
import { receiverTypeOf } from '../types/index.ts'
import type { Encoder, ReceiverType } from '../types/receiver-type.ts'
import { customHeaders } from '../webhook.ts'
import { openWebhookSecrets, signingSecrets } from '../secrets/webhook-secrets.ts'

export interface DeliverOptions {
  readonly outbound: OutboundHttp
  readonly tokens: AccessTokens
  readonly deadlines: Deadlines
  /** The limit for one attempt, from the first packet to the last, requests for tokens included. */
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
  /** The signing secrets: the current one first, then those that were replaced recently. */
  readonly secrets: readonly HmacKeys[]
  /** The Ed25519 keys that sign, the current one first. */
  readonly keys: readonly KeyObject[]
  /** The headers that all of its requests have. */
  readonly common: CommonHeaders
  readonly record: RecordOptions
  /** Null without a client certificate. */
  readonly identity: ClientIdentity | null
  readonly type: ReceiverType
  readonly encoder: Encoder
}

/** What records of requests contain. */
interface RecordOptions {
  /** The address without its query. */
  readonly url: string
  /** Lower-case names of headers whose values are credentials, which records omit. */
  readonly secretHeaders: ReadonlySet<string>
  /** Reduces the headers of a request that has the common ones, and these. */
  readonly reduce: ReturnType<typeof createReducer>
  /** Returns the headers of an answer as JSON text. */
  readonly answerHeaders: (headers: object) => string
}

const defaultHeaders = { 'User-Agent': 'Signalbox-Webhooks/1', 'Content-Type': 'application/json' }

export function receiverOf(
  ctx: Context,
  { orgId, webhookId, webhook }: Pick<ClaimedLane, 'orgId' | 'webhookId' | 'webhook'>,
): Receiver {
  const opened = openWebhookSecrets(ctx.secrets, webhookId, webhook.secrets)
  const now = ctx.clock.now()
  const fields = { ...webhook.doc, ...opened.fields }
  const type = receiverTypeOf(webhook.doc['type'])
  const custom = customHeaders(webhook.doc)
  const headers = { ...replaceHeaders(defaultHeaders, custom), 'Accept-Encoding': 'identity' }
  const secretHeaders = new Set([...Object.keys(custom), 'Authorization'].map((name) => name.toLowerCase()))
  const url = String(webhook.doc['url'])
  return {
    orgId,
    webhookId,
    siteId: webhook.siteId,
    url,
    verifyCert: webhook.doc['verify_cert'] !== false,
    secrets: signingSecrets(opened, now).map(hmacKeysOf),
    keys: signersOf(webhook.doc, opened.signingKeys, now),
    common: new CommonHeaders(headers),
    record: {
      url: withoutQuery(url),
      secretHeaders,
      reduce: createReducer(maskHeaders(headers, secretHeaders)),
      // The answers of an origin have the same headers, as an object, as long as these are equal.
      answerHeaders: rememberLast((of) => storable(JSON.stringify(of))),
    },
    identity: parseClientIdentity(fields),
    type,
    encoder: type.open(fields, webhookId),
  }
}

/** Returns a function that does not encode the same object twice in a row. */
function rememberLast(encode: (value: object) => string): (value: object) => string {
  let last: { readonly value: object; readonly text: string } | null = null
  return (value) => {
    if (last?.value !== value) last = { value, text: encode(value) }
    return last.text
  }
}

export interface Delivery {
  readonly receiver: Receiver
  readonly message: DueMessage
  readonly signal: RequestSignal
}
