import { type Static, Type } from 'typebox'
import { parseInstant } from '../../http/lists/search.ts'
import { textOf } from '../../http/texts.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import { invalidField } from '../../platform/errors.ts'
import { type WebhookSigns, decideState, openUntilOf } from '../health/decide-state.ts'
import type { WebhookActivity } from '../health/store.ts'
import { BREAKER_FAILURES } from '../lanes/decide-lane.ts'
import { topicFault, topicNameOf } from '../topics.ts'
import type { ReplayRequest, Replayed } from './replay-messages.ts'
import type { ParkedMessage, ReplayFilter } from './store-parked.ts'

const Reason = Type.Enum(['exhausted', 'expired'], {
  description: '`exhausted`: twelve attempts failed; `expired`: it waited for a week',
})

export const ParkedMessageReply = named(
  'WebhookParkedMessage',
  Type.Object({
    id: Uuid,
    webhook_id: Uuid,
    topic: Type.String(),
    reason: Reason,
    attempts: Type.Integer({ description: 'with those whose answers requested a pause' }),
    events: Type.Integer(),
    created_time: Timestamp,
    parked_time: Type.Number({ description: 'when it was given up; a week later it is deleted' }),
  }),
)

/** The texts are those of searches. The texts come first, so that the refusal of another one names all forms. */
const Instant = Type.Union([textOf('instant'), Type.Number()], {
  description: 'epoch seconds, `now`, or an offset from now such as `-1h`',
})

/** All members must match. Without any, all parked messages are replayed. */
export const ReplayBody = named(
  'WebhookReplay',
  Type.Object(
    {
      status: Type.Optional(
        Type.Enum(['parked', 'delivered'], {
          default: 'parked',
          description: '`delivered`: messages that the receiver took within the last seven days',
        }),
      ),
      ids: Type.Optional(
        Type.Array(Uuid, { minItems: 1, maxItems: 1000, description: 'of messages, as `webhook-id` names them' }),
      ),
      topic: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
      reason: Type.Optional(Reason),
      start: Type.Optional(Instant),
      end: Type.Optional(Instant),
    },
    { additionalProperties: false },
  ),
)

export const ReplayReply = named(
  'WebhookReplayed',
  Type.Object({
    replayed: Type.Integer({ description: 'at most 10,000; then call again' }),
    next_start: Type.Optional(
      Type.Number({
        description: 'delivered messages are left: call again with it as `start`, and `next_end` as `end`',
      }),
    ),
    next_end: Type.Optional(
      Type.Number({ description: 'what the replay itself delivers comes later, and would be found again' }),
    ),
  }),
)

export const WebhookHealthReply = named(
  'WebhookHealth',
  Type.Object({
    state: Type.Enum(['healthy', 'idle', 'overflowing', 'failing', 'paused', 'disabled'], {
      description:
        'failing: the last attempt failed, or with the type pull, no message was acknowledged for a day; idle: it has no topics, or none that is sent yet; overflowing: messages were dropped within the last hour, because too many waited',
    }),
    reason: Type.Optional(Type.String()),
    disabled_time: Type.Optional(
      Type.Number({ description: 'epoch seconds; missing if the service did not record it yet' }),
    ),
    disabled_reason: Type.Optional(
      Type.Enum(['request', 'gone', 'failing'], {
        description:
          'request: an administrator disabled it; the others: the service did, because its receiver answered 410, or failed for days',
      }),
    ),
    pending: Type.Integer({ description: 'waiting messages' }),
    pending_exact: Type.Boolean({
      description: 'false: up to 200 fewer wait, because more than 1,000 do, and they are being sent',
    }),
    oldest_pending: Type.Optional(Type.Number({ description: 'when the oldest waiting message was made' })),
    parked: Type.Integer({ description: 'at most 10,000' }),
    overflowed: Type.Integer({ description: 'messages that were dropped because too many waited' }),
    first_overflow: Type.Optional(
      Type.Number({ description: 'since when messages were dropped until then; none was in the hour before' }),
    ),
    last_overflow: Type.Optional(Type.Number({ description: 'when a message was last dropped' })),
    breaker: Type.Object({
      open: Type.Boolean({ description: 'after five failures in a row, until an attempt succeeds' }),
      failures: Type.Integer({ description: 'failed attempts since the last success' }),
      open_until: Type.Optional(
        Type.Number({
          description:
            'epoch seconds: until then only pings are sent, because the breaker is open, or for a pause that the receiver requested, the rate limit, or the order',
        }),
      ),
    }),
    last_hour: Type.Object({
      attempts: Type.Integer({ description: 'at most the last 1,000' }),
      success_rate: Type.Optional(Type.Number({ description: '0 to 1' })),
      p50_ms: Type.Optional(Type.Integer({ description: 'the median duration of the successful ones' })),
      p99_ms: Type.Optional(
        Type.Integer({ description: 'the 99th percentile of the durations of the successful ones' }),
      ),
    }),
  }),
)

/** @throws AppError invalid naming the field. */
export function parseReplay({ status, ...filter }: Static<typeof ReplayBody>, now: Date): ReplayRequest {
  if (status === 'delivered' && filter.reason !== undefined)
    throw invalidField('reason', 'applies to parked messages only, and `status` is delivered')
  return { status: status ?? 'parked', filter: parseFilter(filter, now) }
}

function parseFilter(
  { ids, topic, reason, start, end }: Omit<Static<typeof ReplayBody>, 'status'>,
  now: Date,
): ReplayFilter {
  const [from, until] = [dateOf('start', start, now), dateOf('end', end, now)]
  if (from !== null && until !== null && from > until) throw invalidField('start', `${start} is after the end, ${end}`)
  const topicError = topic === undefined ? null : topicFault(topic, 'site')
  if (topicError !== null) throw invalidField('topic', topicError)
  return {
    ids: ids ?? null,
    topic: topic === undefined ? null : topicNameOf(topic),
    reason: reason ?? null,
    start: from,
    end: until,
  }
}

function dateOf(field: string, value: string | number | undefined, now: Date): Date | null {
  // Only a text with a minus is an offset.
  if (typeof value === 'number' && value < 0) throw invalidField(field, 'must be epoch seconds of at least 0')
  return value === undefined ? null : parseInstant(field, String(value), now)
}

export function presentReplayed({ replayed, next }: Replayed): Static<typeof ReplayReply> {
  return { replayed, ...(next !== null && { next_start: epochS(next.start), next_end: epochS(next.end) }) }
}

export function presentParked(message: ParkedMessage): Static<typeof ParkedMessageReply> {
  return {
    id: message.id,
    webhook_id: message.webhookId,
    topic: message.topic,
    reason: message.reason,
    attempts: message.attempt,
    events: message.eventCount,
    created_time: epochS(message.createdAt),
    parked_time: epochS(message.parkedAt),
  }
}

interface HealthFacts extends Pick<WebhookSigns, 'enabled' | 'disabledWhy' | 'topics' | 'isLimited'> {
  readonly disabledAt: Date | null
  readonly now: Date
}

export function presentHealth(
  { now, disabledAt, ...webhook }: HealthFacts,
  activity: WebhookActivity,
): Static<typeof WebhookHealthReply> {
  const {
    pending,
    isPendingExact,
    oldestPendingAt,
    parked,
    overflowed,
    overflowedAt,
    overflowingSince,
    failures,
    attempts,
    successes,
    p50Ms,
    p99Ms,
  } = activity
  const { state, reason } = decideState({ ...webhook, ...activity }, now)
  const openUntil = openUntilOf(activity, now)
  return {
    state,
    ...(reason !== null && { reason }),
    ...(disabledAt !== null && { disabled_time: epochS(disabledAt) }),
    ...(webhook.disabledWhy !== null && { disabled_reason: webhook.disabledWhy }),
    pending,
    pending_exact: isPendingExact,
    ...(oldestPendingAt !== null && { oldest_pending: epochS(oldestPendingAt) }),
    parked,
    overflowed,
    ...(overflowingSince !== null && { first_overflow: epochS(overflowingSince) }),
    ...(overflowedAt !== null && { last_overflow: epochS(overflowedAt) }),
    breaker: {
      open: failures >= BREAKER_FAILURES,
      failures,
      ...(openUntil !== null && { open_until: epochS(openUntil) }),
    },
    last_hour: {
      attempts,
      ...(attempts > 0 && { success_rate: successes / attempts }),
      ...(p50Ms !== null && { p50_ms: p50Ms }),
      ...(p99Ms !== null && { p99_ms: p99Ms }),
    },
  }
}
