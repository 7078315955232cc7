import type { OutboundResult } from '../../platform/outbound/outbound-http.ts'
import type { TokenResult } from './access-tokens.ts'
import type { DeliverOptions, Delivery, Receiver } from './receiver.ts'
import { replaceHeaders } from './headers.ts'
import type { TokenGrant } from './oauth2.ts'
import { signatureHeaders } from '../signing/sign.ts'
import type { TypedRequest } from '../types/receiver-type.ts'

/** Encodes and signs a message as its receiver's type demands. */
export function requestOf({ receiver, message }: Pick<Delivery, 'receiver' | 'message'>, at: Date): TypedRequest {
  const { encoder, secrets, keys, headers } = receiver
  const body = encoder.encodeBody(message)
  const signatures = signatureHeaders(secrets, { messageId: message.id, at, body }, keys)
  return encoder.createRequest({
    id: message.id,
    topic: message.topic,
    body,
    at,
    headers: { ...headers, ...signatures },
    signatures,
  })
}

/**
 * Sends a request, with an access token where the receiver takes one; without a token nothing is sent. A token from before
 * may have been revoked: if the receiver refuses it, the request is sent once more with a new one.
 */
export async function sendMessage(
  options: DeliverOptions,
  delivery: Delivery,
  request: TypedRequest,
): Promise<OutboundResult> {
  const { grant } = delivery.receiver.encoder
  if (grant === null) return send(options, delivery, request)
  const first = await getToken(options, delivery, grant)
  if (first.kind !== 'token') return first
  const result = await send(options, delivery, withToken(request, first.token))
  if (result.kind !== 'answer' || result.status !== 401) return result
  options.tokens.forget(delivery.receiver.webhookId)
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

function withToken({ headers, body }: TypedRequest, token: string): TypedRequest {
  return { headers: replaceHeaders(headers, { Authorization: `Bearer ${token}` }), body }
}

function send(
  { outbound, timeoutMs }: DeliverOptions,
  { receiver, signal }: Delivery,
  { headers, body }: TypedRequest,
): Promise<OutboundResult> {
  return outbound.send({
    url: receiver.url,
    method: 'POST',
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

/**
 * Returns the headers of a request for its record. Everyone with read access sees the record, so it omits credentials
 * for the receiver, which custom headers often are.
 */
export function recordedHeaders({ secretHeaders }: Receiver, { headers }: TypedRequest): Record<string, string> {
  const recorded: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers))
    recorded[name] = secretHeaders.has(name.toLowerCase()) ? '***' : value
  return recorded
}
