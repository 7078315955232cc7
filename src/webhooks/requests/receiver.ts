import type { KeyObject } from 'node:crypto'
import type { Context } from '../../platform/context.ts'
import type { ClientIdentity } from '../../platform/outbound/outbound-agents.ts'
import type { RequestSignal } from '../../platform/outbound/cutter.ts'
import type { OutboundHttp } from '../../platform/outbound/outbound-http.ts'
import type { AccessTokens } from './access-tokens.ts'
import { parseClientIdentity } from './client-certificate.ts'
import { replaceHeaders } from './headers.ts'
import { type HmacKeys, hmacKeysOf } from '../signing/sign.ts'
import { signersOf } from '../signing/signing-keys.ts'
import type { ClaimedLane, DueMessage } from '../delivery/store.ts'
import { receiverTypeOf } from '../types/index.ts'
import type { Encoder, ReceiverType } from '../types/receiver-type.ts'
import { customHeaders } from '../webhook.ts'
import { openWebhookSecrets, signingSecrets } from '../webhook-secrets.ts'

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
  /** The signing secrets: the current one first, then those that were replaced recently. */
  readonly secrets: readonly HmacKeys[]
  /** The Ed25519 keys that sign, the current one first. */
  readonly keys: readonly KeyObject[]
  /** The headers that all of its requests have. */
  readonly headers: Readonly<Record<string, string>>
  /** Lower-case names of headers whose values are credentials, which records omit. */
  readonly secretHeaders: ReadonlySet<string>
  /** Null without a client certificate. */
  readonly identity: ClientIdentity | null
  readonly type: ReceiverType
  readonly encoder: Encoder
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
  return {
    orgId,
    webhookId,
    siteId: webhook.siteId,
    url: String(webhook.doc['url']),
    verifyCert: webhook.doc['verify_cert'] !== false,
    secrets: signingSecrets(opened, now).map(hmacKeysOf),
    keys: signersOf(webhook.doc, opened.signingKeys, now),
    headers: { ...replaceHeaders(defaultHeaders, custom), 'Accept-Encoding': 'identity' },
    secretHeaders: new Set([...Object.keys(custom), 'Authorization'].map((name) => name.toLowerCase())),
    identity: parseClientIdentity(fields),
    type,
    encoder: type.open(fields, webhookId),
  }
}

export interface Delivery {
  readonly receiver: Receiver
  readonly message: DueMessage
  readonly signal: RequestSignal
}
