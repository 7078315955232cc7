import { sql } from 'kysely'
import { type PlaceScope, siteIdOf } from '../../access/scope.ts'
import type { Db } from '../../platform/database/db.ts'
import { MAX_COUNTED, MAX_PARKED } from './decide-state.ts'

/** The activity of a webhook's deliveries in the database. */
export interface WebhookActivity {
  readonly pending: number
  /** False if up to 200 messages fewer wait, because the lane is held and has more than it is worth to count. */
  readonly isPendingExact: boolean
  readonly oldestPendingAt: Date | null
  /** Messages that were dropped because too many waited, and when the last one was. */
  readonly overflowed: number
  readonly overflowedAt: Date | null
  /** When the first of those was dropped that came less than OVERFLOWING_MS apart until then; null if that is unknown. */
  readonly overflowingSince: Date | null
  readonly parked: number
  readonly failures: number
  /** Since when a receiver that fetches has acknowledged nothing, if that is longer than a day; see watchUnfetched(). */
  readonly unfetchedSince: Date | null
  readonly openUntil: Date | null
  /** When the next message is due, while none is being sent. */
  readonly nextAt: Date | null
  /** The error of the last attempt since `since`, apart from those of test messages, whose failures do not count. */
  readonly lastError: string | null
  /** Attempts since `since`, at most the last 1,000. */
  readonly attempts: number
  readonly successes: number
  /** The median of the successful ones. */
  readonly p50Ms: number | null
  readonly p99Ms: number | null
}

/** Bounds the number of attempts that are read for a busy webhook. */
const MAX_ATTEMPTS = 1000

/** Finds the activity of a webhook that is of this place. */
export async function findActivity(
  db: Db,
  scope: PlaceScope,
  { webhookId, since }: { readonly webhookId: string; readonly since: Date },
): Promise<WebhookActivity | undefined> {
  const { orgId } = scope
  const { rows } = await sql<WebhookActivity>`
    select least(l.pending, case when l.pending <= ${MAX_COUNTED} then (
        select count(*) from webhook_message where org_id = ${orgId} and webhook_id = ${webhookId} and due_at >= l.due_from)
      end)::int as pending, l.pending <= ${MAX_COUNTED} or l.lease_until is null as is_pending_exact, l.overflowed::float8 as overflowed, l.overflowed_at, l.overflowing_since, l.failures, case when l.pulled then l.failing_since end as unfetched_since, l.open_until, l.next_at, recent.*,
      (select min(m.created_at) from (
        select created_at from webhook_message
        where org_id = ${orgId} and webhook_id = ${webhookId} and due_at >= l.due_from
        order by due_at, id limit ${MAX_ATTEMPTS}) m) as oldest_pending_at,
      (select count(*)::int from (
        select from webhook_parked_message where org_id = ${orgId} and webhook_id = ${webhookId} limit ${MAX_PARKED}) p) as parked,
      (select error from webhook_delivery
        where org_id = ${orgId} and webhook_id = ${webhookId} and created_at >= ${since} and topic <> 'ping'
        order by created_at desc, id desc limit 1) as last_error
    from webhook_lane l cross join (
      select count(*)::int as attempts, (count(*) filter (where status = 'success'))::int as successes,
        percentile_disc(0.5) within group (order by duration_ms) filter (where status = 'success') as p50_ms,
        percentile_disc(0.99) within group (order by duration_ms) filter (where status = 'success') as p99_ms
      from (
        select status, duration_ms from webhook_delivery
        where org_id = ${orgId} and webhook_id = ${webhookId} and created_at >= ${since}
        order by created_at desc, id desc limit ${MAX_ATTEMPTS}) d) recent
    where l.org_id = ${orgId} and l.webhook_id = ${webhookId} and exists (
      select from webhook where org_id = ${orgId} and id = ${webhookId} and site_id is not distinct from ${siteIdOf(scope)}::uuid)
  `.execute(db)
  return rows[0]
}
