import { type Selectable, sql } from 'kysely'
import type { Reader } from '../../platform/database/db.ts'
import { columnsOf, rowsAs } from '../../platform/database/rows.ts'
import { BREAKER_FAILURES } from '../lanes/decide-lane.ts'
import type { HeldLaneKey } from '../lanes/store.ts'
import { isLaneOf, isWebhookOf } from '../store-look-ups.ts'
import type { WebhookMessageTable } from '../tables.ts'
import type { PayloadPlace } from './payload-place.ts'

export interface DueMessage {
  readonly id: string
  readonly topic: string
  readonly body: Buffer
  /** Attempts made before. */
  readonly attempt: number
  /** Those of them whose answers requested a pause; they don't count towards the limit of attempts. */
  readonly pauses: number
  readonly orderKey: string | null
  /** Null before the first attempt. */
  readonly payload: PayloadPlace | null
}

/** The place of a message in the order of delivery. Messages are due at whole milliseconds. */
export interface MessagePlace {
  readonly dueAt: Date
  readonly id: string
}

export interface LaneMessages {
  /** In the order of delivery. */
  readonly messages: readonly DueMessage[]
  /** True when the database has no further message of the lane that is due. */
  readonly hasAll: boolean
  /** When the first due message is due, even if it does not fit; null if there is none. */
  readonly firstDueAt: Date | null
  /** The place of the last of the messages; null if there is none. */
  readonly last: MessagePlace | null
}

export const noMessages: LaneMessages = { messages: [], hasAll: false, firstDueAt: null, last: null }

interface LaneToRead extends HeldLaneKey {
  /** Only messages behind this place are listed; null or absent for all. */
  readonly after?: MessagePlace | null
}

interface Limits {
  readonly now: Date
  /** Limits the bodies of all messages together; the first message is listed whatever its size. */
  readonly maxBytes: number
  /** The number of messages of each lane. */
  readonly limit: number
}

const laneColumns = columnsOf(
  'webhookLane',
  { orgId: 'uuid', webhookId: 'uuid', epoch: 'bigint' },
  { afterDueAt: 'timestamptz', afterId: 'uuid' },
)

function rowOf({ orgId, webhookId, epoch, after = null }: LaneToRead) {
  return { orgId, webhookId, epoch, afterDueAt: after?.dueAt ?? null, afterId: after?.id ?? null }
}

/** Limits the messages of one lane in bytes; the first message is claimed whatever its size. */
export const MAX_LANE_BYTES = 512 * 1024

/**
 * Lists due messages of each lane, the first ones of all lanes before the second ones, until `maxBytes` is
 * reached. A lane maps to an empty list when none of its due messages fits, and is missing if it has none or another epoch.
 */
export async function listDueMessages(
  reader: Reader,
  lanes: readonly LaneToRead[],
  { now, maxBytes, limit }: Limits,
): Promise<Map<string, LaneMessages>> {
  if (lanes.length === 0) return new Map()
  const { rows } = await sql<FoundMessage & { webhookId: string }>`
    select webhook_id, id, topic, attempt, pauses, order_key, due_at, payload_id, payload_at,
      case when fits and (bytes_all <= ${maxBytes} or place = 1) then body end as body
    from (
      select m.*, sum(case when m.fits then octet_length(m.body) else 0 end) over each_rank as bytes_all,
        row_number() over each_rank as place
      from (
        select k.lane, l.webhook_id, d.id, d.topic, d.attempt, d.pauses, d.order_key, d.due_at, d.payload_id, d.payload_at, d.body, d.rank, d.fits
        from ${rowsAs('k', laneColumns, lanes.map(rowOf), 'lane')}
          join webhook_lane l on ${isLaneOf('l', 'k')} and l.epoch = k.epoch
          join webhook w on ${isWebhookOf('w', 'k')}
          cross join lateral (
            select m.*, row_number() over earlier as rank,
              row_number() over earlier = 1 or sum(octet_length(m.body)) over earlier <= ${MAX_LANE_BYTES} as fits
            from webhook_message m
            where m.org_id = l.org_id and m.webhook_id = l.webhook_id and m.due_at >= coalesce(k.after_due_at, l.due_from) and m.due_at <= ${now}
              and (k.after_id is null or (m.due_at, m.id) > (k.after_due_at, k.after_id))
              and w.enabled and (l.open_until is null or l.open_until <= ${now})
            window earlier as (order by m.due_at, m.id)
            order by m.due_at, m.id
            limit case when l.failures >= ${BREAKER_FAILURES} then 1 else ${limit}::integer end) d) m
      window each_rank as (order by m.rank, m.lane)) sized
    order by webhook_id, rank
  `.execute(reader)
  const ofLanes = Map.groupBy(rows, ({ webhookId }) => webhookId)
  return new Map([...ofLanes].map(([webhookId, ofLane]) => [webhookId, laneMessages(ofLane, limit)]))
}

/** The body is null if it does not fit. */
type FoundMessage = Omit<DueMessage, 'body' | 'payload'> &
  Pick<Selectable<WebhookMessageTable>, 'payloadId' | 'payloadAt' | 'dueAt'> & { readonly body: Buffer | null }

function laneMessages(due: readonly FoundMessage[], limit: number): LaneMessages {
  const fitting = due.filter(({ body }) => body !== null)
  const messages = fitting.flatMap(({ id, topic, attempt, pauses, orderKey, body, payloadId, payloadAt }) => {
    const payload = payloadId === null || payloadAt === null ? null : { deliveryId: payloadId, at: payloadAt }
    return body === null ? [] : [{ id, topic, attempt, pauses, orderKey, body, payload }]
  })
  const hasAll = messages.length === due.length && due.length < limit
  const last = fitting.at(-1)
  return {
    messages,
    hasAll,
    firstDueAt: due[0]?.dueAt ?? null,
    last: last === undefined ? null : { dueAt: last.dueAt, id: last.id },
  }
}
