import type { OutboundResult } from '../../platform/outbound/outbound-http.ts'
import type { TokenResult } from './access-tokens.ts'
import type { DeliverOptions, Delivery, Receiver } from './receiver.ts'
import { replaceHeaders } from './headers.ts'
import { type HeadersOfRecord, type Recorded, maskHeaders, reduceHeaders } from './recorded-headers.ts'
import type { TokenGrant } from './oauth2.ts'
import { signatureHeaders } from '../signing/sign.ts'
import { type TypedRequest, allHeaders } from '../types/receiver-type.ts'

/** Encodes and signs a message as its receiver's type demands. */
export function requestOf({ receiver, message }: Pick<Delivery, 'receiver' | 'message'>, at: Date): TypedRequest {
  const { encoder, secrets, keys, common } = receiver
  const body = encoder.encodeBody(message)
  const signatures = signatureHeaders(secrets, { messageId: message.id, at, body }, keys)
  return encoder.createRequest({ id: message.id, topic: message.topic, body, at, common, signatures })
}

/**
 * Sends a request, with an access token where the receiver takes one; without a token nothing is sent. A token from before
 * may have been revoked: if the receiver refuses it, the request is sent once more with a new one.
 */
export function sendMessage(
  options: DeliverOptions,
  delivery: Delivery,
  request: TypedRequest,
): Promise<OutboundResult> {
  const { grant } = delivery.receiver.encoder
  return grant === null ? send(options, delivery, request) : sendWithToken(options, delivery, { request, grant })
}

async function sendWithToken(
  options: DeliverOptions,
  delivery: Delivery,
  { request, grant }: { readonly request: TypedRequest; readonly grant: TokenGrant },
): Promise<OutboundResult> {
  const first = await getToken(options, delivery, grant)
  if (first.kind !== 'token') return first
  const result = await send(options, delivery, withToken(request, first.token))
  if (result.kind !== 'answer' || result.status !== 401) return result
  options.tokens.forget(delivery.receiver.webhookId, first.token)
  if (!first.isNew) {
    const second = await getToken(options, delivery, grant)
    if (second.kind === 'token') return send(options, delivery, withToken(request, second.token))
  }
  return result
}

function getToken(
  { tokens, timeoutMs }: DeliverOptions,
  { receiver, signal }: Delivery,
  grant: TokenGrant,
): Promise<TokenResult> {
  const { orgId, webhookId, verifyCert } = receiver
  return tokens.get({ orgId, webhookId, grant, verifyCert, timeoutMs, signal })
}

function withToken(request: TypedRequest, token: string): TypedRequest {
  const headers = replaceHeaders(allHeaders(request), { Authorization: `Bearer ${token}` })
  return { common: null, headers, body: request.body }
}

function send(
  { outbound, timeoutMs }: DeliverOptions,
  { receiver, signal }: Delivery,
  { common, headers, body }: TypedRequest,
): Promise<OutboundResult> {
  return outbound.send({
    url: receiver.url,
    method: 'POST',
    ...(common !== null && { common }),
    headers,
    body,
    verifyCert: receiver.verifyCert,
    ...(receiver.identity !== null && { identity: receiver.identity }),
    timeoutMs,
    signal,
    // Receivers recognize a message by its id.
    mayArriveTwice: true,
    owner: receiver.orgId,
  })
}

/** Reduces the headers of a request for its record. */
export function reduceRequest({ record }: Receiver, request: TypedRequest, recorded: Recorded): HeadersOfRecord {
  if (request.common !== null) return record.reduce(request.headers, recorded)
  const { others, signatures } = reduceHeaders(maskHeaders(request.headers, record.secretHeaders), recorded)
  return { others: JSON.stringify(others), signatures }
}
