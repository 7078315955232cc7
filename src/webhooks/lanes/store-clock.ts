import { type RawBuilder, sql } from 'kysely'
import type { Reader, Tx } from '../../platform/database/db.ts'
import { rowsAs } from '../../platform/database/rows.ts'
import { isLaneOf, isWebhookOf } from '../store-look-ups.ts'
import { LAST_ID, MESSAGES_PER_STATEMENT } from './store-order.ts'
import { type LaneKey, laneKeyColumns, lockLanes, nextAt } from './store.ts'

export interface WaitingLane extends LaneKey {
  /** How many messages it counts. */
  readonly messages: number
}

/** Lists the lanes with a time after `now` for which they, or messages of them, wait. */
export async function listWaitingLanes(reader: Reader, now: Date): Promise<WaitingLane[]> {
  const { rows } = await sql<WaitingLane>`
    select l.org_id, l.webhook_id, l.pending as messages from webhook_lane l
    where l.open_until > ${now} or l.replays_until > ${now} or exists (
      select from webhook_message m where m.org_id = l.org_id and m.webhook_id = l.webhook_id and m.due_at > ${now})
    order by l.org_id, l.webhook_id
  `.execute(reader)
  return rows
}

interface ClockStep {
  readonly now: Date
  /** By how much the clock was set back. */
  readonly ms: number
}

/**
 * Makes the times of lanes earlier by the step by which the wall clock was set back: their retries, their breakers and the pauses that
 * their receivers have requested would otherwise end that much later. Messages keep their order; orderByCreation() begins again. A process
 * that holds one of the lanes loses it, as in closeBreaker().
 */
export async function shiftLanes(tx: Tx, lanes: readonly LaneKey[], step: ClockStep): Promise<void> {
  await lockLanes(tx, lanes)
  await shiftMessages(tx, lanes, step)
  const dueFrom = sql`least(l.due_from, ${step.now}::timestamptz)`
  const openUntil = shifted(sql`l.open_until`, step)
  await sql`
    update webhook_lane l
    set open_until = ${openUntil}, failing_since = ${shifted(sql`l.failing_since`, step)}, lease_until = null, leased_by = null,
      epoch = l.epoch + 1, followers_at = ${shifted(sql`l.followers_at`, step)},
      ordered_at = case when l.ordered_at is not null then '-infinity'::timestamptz end,
      replays_until = ${shifted(sql`l.replays_until`, step)}, due_from = ${dueFrom}, next_at = ${nextAt(openUntil, dueFrom)}
    from webhook w, ${rowsAs('k', laneKeyColumns, lanes)}
    where ${isWebhookOf('w', 'k')} and ${isLaneOf('l', 'k')}
  `.execute(tx)
}

/**
 * Shifts all messages that are due later, a portion at a time, the earliest first. A shifted message is due before all that are
 * left, so no later portion shifts it again. All are shifted in one transaction: later messages of a key would overtake those that
 * kept their times. PostgreSQL uses the index of due messages only because a condition compares `due_at` alone.
 */
async function shiftMessages(tx: Tx, lanes: readonly LaneKey[], step: ClockStep): Promise<void> {
  let after = { dueAt: step.now.toISOString(), id: LAST_ID }
  let moved = MESSAGES_PER_STATEMENT
  while (moved === MESSAGES_PER_STATEMENT) {
    const { rows } = await sql<{ dueAt: string; id: string; moved: number }>`
      with late as materialized (
        select m.id, m.due_at from ${rowsAs('k', laneKeyColumns, lanes)} cross join lateral (
          select id, due_at from webhook_message
          where webhook_id = k.webhook_id and due_at > ${step.now} and (due_at, id) > (${after.dueAt}::timestamptz, ${after.id}::uuid)
          order by due_at, id limit ${MESSAGES_PER_STATEMENT}) m
        order by m.due_at, m.id limit ${MESSAGES_PER_STATEMENT}
      ), moved as (
        update webhook_message m set due_at = ${shifted(sql`m.due_at`, step)} where id = any(array(select id from late))
      )
      select due_at::text, id, (count(*) over ())::int as moved from late order by late.due_at desc, id desc limit 1
    `.execute(tx)
    const [last] = rows
    if (last === undefined) return
    after = last
    moved = last.moved
  }
}

function shifted(time: RawBuilder<unknown>, { now, ms }: ClockStep): RawBuilder<Date> {
  return sql`case when ${time} > ${now} then greatest(${now}::timestamptz, ${time} - ${ms} * interval '1 millisecond') else ${time} end`
}
