import { type RawBuilder, sql } from 'kysely'
import type { Reader, Tx } from '../../platform/database/db.ts'
import { type LaneKey, nextAt } from './store.ts'

/** Bounds the time for which a lane is locked. */
const MAX_SHIFTED = 10_000

/** Lists the lanes with a time after `now` for which they, or messages of them, wait. */
export async function listWaitingLanes(reader: Reader, now: Date): Promise<LaneKey[]> {
  const { rows } = await sql<LaneKey>`
    select l.org_id, l.webhook_id from webhook_lane l
    where l.open_until > ${now} or exists (
      select from webhook_message m where m.org_id = l.org_id and m.webhook_id = l.webhook_id and m.due_at > ${now})
    order by l.org_id, l.webhook_id
  `.execute(reader)
  return rows
}

/**
 * Makes the times of a lane earlier, because the wall clock was set back by so much: its retries, its breaker and the pause that
 * its receiver has requested would otherwise end that much later. Messages keep their order. A process that holds the lane loses
 * it, as in closeBreaker().
 */
export async function shiftLane(
  tx: Tx,
  { orgId, webhookId }: LaneKey,
  { now, ms }: { readonly now: Date; readonly ms: number },
): Promise<void> {
  const shifted = (time: RawBuilder<unknown>): RawBuilder<Date> =>
    sql`case when ${time} > ${now} then greatest(${now}::timestamptz, ${time} - ${ms} * interval '1 millisecond') else ${time} end`
  await sql`select from webhook_lane l where l.org_id = ${orgId} and l.webhook_id = ${webhookId} for update`.execute(tx)
  await sql`
    update webhook_message m set due_at = ${shifted(sql`m.due_at`)}
    from (
      select id from webhook_message where org_id = ${orgId} and webhook_id = ${webhookId} and due_at > ${now}
      order by due_at, id limit ${MAX_SHIFTED}
    ) late where m.id = late.id
  `.execute(tx)
  const dueFrom = sql`least(l.due_from, ${now}::timestamptz)`
  const openUntil = shifted(sql`l.open_until`)
  await sql`
    update webhook_lane l
    set open_until = ${openUntil}, failing_since = ${shifted(sql`l.failing_since`)}, lease_until = null, leased_by = null,
      epoch = l.epoch + 1, due_from = ${dueFrom}, next_at = ${nextAt(openUntil, dueFrom)}
    from webhook w
    where w.org_id = ${orgId} and w.id = ${webhookId} and l.org_id = w.org_id and l.webhook_id = w.id
  `.execute(tx)
}
