import type { OutboundResult } from '../../platform/outbound/outbound-http.ts'
import type { Deadlines } from '../../platform/time/deadlines.ts'
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
 * may have been revoked: if the receiver refuses it, the request is sent once more with a new one. The time limit is for all
 * of these requests together.
 */
export function sendMessage(
  options: DeliverOptions,
  delivery: Delivery,
  request: TypedRequest,
): Promise<OutboundResult> {
  const { grant } = delivery.receiver.encoder
  return grant === null
    ? send(options, delivery, { request, timeoutMs: options.timeoutMs })
    : sendWithToken(options, delivery, { request, grant })
}

async function sendWithToken(
  options: DeliverOptions,
  delivery: Delivery,
  { request, grant }: { readonly request: TypedRequest; readonly grant: TokenGrant },
): Promise<OutboundResult> {
  const remainingMs = countDown(options)
  // The receiver has at least as much time as the request for the token.
  const findToken = () => getToken(options, delivery, { grant, timeoutMs: Math.round(remainingMs() / 2) })
  const first = await findToken()
  if (first.kind !== 'token') return first
  const sendWith = (token: string) =>
    send(options, delivery, { request: withToken(request, token), timeoutMs: remainingMs() })
  const result = await sendWith(first.token)
  if (result.kind !== 'answer' || result.status !== 401) return result
  options.tokens.forget(delivery.receiver.webhookId, first.token)
  if (first.isNew) return result
  const second = await findToken()
  if (second.kind === 'token') return sendWith(second.token)
  if (second.kind === 'aborted') return second
  return { ...second, error: `${second.error} (the receiver had answered 401)`, remoteAddress: result.remoteAddress }
}

/** Returns how much of the time limit is left, in milliseconds. */
function countDown({ deadlines, timeoutMs }: { readonly deadlines: Deadlines; readonly timeoutMs: number }) {
  const endMs = deadlines.nowMs() + timeoutMs
  return (): number => Math.max(Math.round(endMs - deadlines.nowMs()), 0)
}

function getToken(
  { tokens }: DeliverOptions,
  { receiver, signal }: Delivery,
  { grant, timeoutMs }: { readonly grant: TokenGrant; readonly timeoutMs: number },
): Promise<TokenResult> {
  const { orgId, webhookId, verifyCert } = receiver
  return tokens.get({ orgId, webhookId, grant, verifyCert, timeoutMs, signal })
}

function withToken(request: TypedRequest, token: string): TypedRequest {
  const headers = replaceHeaders(allHeaders(request), { Authorization: `Bearer ${token}` })
  return { common: null, headers, body: request.body }
}

function send(
  { outbound }: DeliverOptions,
  { receiver, signal }: Delivery,
  { request, timeoutMs }: { readonly request: TypedRequest; readonly timeoutMs: number },
): Promise<OutboundResult> {
  const { common, headers, body } = request
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
