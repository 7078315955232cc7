import { uuidv7 } from '../../platform/uuidv7.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import type { OutboundResult } from '../../platform/outbound/outbound-http.ts'
import { type Verdict, askedPauseMs, decideRetry, isSuccess } from './decide-retry.ts'
import type { DeliverOptions, Delivery, Receiver } from '../requests/receiver.ts'
import { storable } from '../requests/storable.ts'
import { reduceRequest, requestOf, sendMessage } from '../requests/send-message.ts'
import type { DeliveryRecord } from './store.ts'
import type { DueMessage } from './store-due.ts'
import type { ReceiverType } from '../types/receiver-type.ts'
import { countAttempt } from '../metrics/metrics.ts'
import { isOfSameDay } from './payload-place.ts'

export interface Attempt {
  readonly verdict: Verdict
  /** The pause that the receiver requests; 0 if it requests none. */
  readonly askedMs: number
  /** The attempts of the message, this one included, whose answers requested a pause. */
  readonly pauses: number
  readonly record: DeliveryRecord
}

/** Makes one attempt. Returns null when `signal` aborted it: the outcome is unknown, and the attempt does not count. */
export async function deliverMessage(
  ctx: Context,
  options: DeliverOptions,
  delivery: Delivery,
): Promise<Attempt | null> {
  const { receiver, message } = delivery
  const at = ctx.clock.now()
  const request = requestOf(delivery, at)
  const startedMs = performance.now()
  const result = await sendMessage(options, delivery, request)
  if (result.kind === 'aborted') return null
  // An attempt may take longer than the pause after it.
  const endedAt = ctx.clock.now()
  const attempt = message.attempt + 1
  const status = result.kind === 'answer' ? result.status : null
  const asked = {
    attempt: attempt - message.pauses,
    topic: message.topic,
    status,
    retryAfter: retryAfterOf(result),
    at: endedAt,
  }
  const verdict = decideRetry(asked, options.random())
  const durationMs = Math.round(performance.now() - startedMs)
  countAttempt(ctx.metrics, verdict, durationMs)
  const { others, signatures } = reduceRequest(receiver, request, { messageId: message.id, createdAt: at })
  return {
    verdict,
    askedMs: askedPauseMs(asked),
    pauses: message.pauses + (verdict.kind === 'pause' ? 1 : 0),
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
      error: errorOf(result, receiver.type),
      reqUrl: receiver.record.url,
      createdAt: at,
      durationMs,
      final: verdict.kind === 'delivered' || verdict.kind === 'give_up',
      nextAttempt: 'afterMs' in verdict ? addMs(endedAt, verdict.afterMs) : null,
      exchange: {
        reqHeaders: others,
        headersReduced: true,
        signatures,
        ...recordPayload(message, at),
        ...answerOf(result, receiver),
        remoteAddress: result.remoteAddress,
      },
    },
  }
}

/** Returns the payload, or where an earlier attempt has recorded it. */
function recordPayload(
  { body, payload }: DueMessage,
  at: Date,
): Pick<DeliveryRecord['exchange'], 'reqPayload' | 'payloadId' | 'payloadAt' | 'payloadBytes'> {
  if (payload === null || !isOfSameDay(payload, at))
    return { reqPayload: body.toString('utf8'), payloadId: null, payloadAt: null, payloadBytes: null }
  return { reqPayload: null, payloadId: payload.deliveryId, payloadAt: payload.at, payloadBytes: body.length }
}

type Outcome = Exclude<OutboundResult, { kind: 'aborted' }>

function retryAfterOf(result: Outcome): string | null {
  const value = result.kind === 'answer' ? result.headers['retry-after'] : undefined
  return typeof value === 'string' ? value : null
}

/** An index has the error of each failure, and an entry of an index may have about 2,700 bytes. */
const MAX_ERROR_CHARACTERS = 500

function errorOf(result: Outcome, type: ReceiverType): string | null {
  if (result.kind === 'failed') return storable(result.error.slice(0, MAX_ERROR_CHARACTERS))
  if (isSuccess(result.status)) return null
  const why = type.explain(result.body.toString('utf8'))
  return why === null ? `answered ${result.status}` : storable(`answered ${result.status}: ${why}`)
}

function answerOf(result: Outcome, { record }: Receiver): Pick<DeliveryRecord['exchange'], 'respHeaders' | 'respBody'> {
  if (result.kind === 'failed') return { respHeaders: null, respBody: null }
  return {
    respHeaders: record.answerHeaders(result.headers),
    respBody: result.body.length === 0 ? '' : storable(result.body.toString('utf8')),
  }
}
