import { sql } from 'kysely'
import { topics } from '../events/topics.ts'
import { type Tx, anyOf } from '../platform/db.ts'
import type { OutboxEvent, Subscriber } from './plan-messages.ts'

/** Any fixed number: one router at a time, whichever process it is in. */
const ROUTER_LOCK = 5301942

/** False when another router works now. The lock ends with `tx`. */
export async function tryLockRouter(tx: Tx): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(${ROUTER_LOCK}::bigint) as locked
  `.execute(tx)
  return rows[0]?.locked === true
}

const lingering = Object.entries(topics).flatMap(([topic, { lingerMs }]) => (lingerMs > 0 ? [{ topic, lingerMs }] : []))

/**
 * Takes (deletes) events in order of id. Events of a lingering topic stay until the oldest of their
 * organization and topic has waited long enough; then all of them go together.
 */
export async function takeRipeEvents(
  tx: Tx,
  { now, limit }: { readonly now: Date; readonly limit: number },
): Promise<OutboxEvent[]> {
  const names = lingering.map(({ topic }) => topic)
  const ripeBefore = lingering.map(({ lingerMs }) => new Date(now.getTime() - lingerMs))
  const { rows } = await sql<OutboxEvent>`
    delete from webhook_outbox where id in (
      select id from webhook_outbox
      where not topic = any(${names}::text[]) or (org_id, topic) in (
        select o.org_id, o.topic
        from webhook_outbox o
          join unnest(${names}::text[], ${ripeBefore}::timestamptz[]) as t (topic, ripe_before) on t.topic = o.topic
        where o.created_at <= t.ripe_before)
      order by id limit ${limit} for update skip locked)
    returning id, org_id, site_id, topic, event::text as json
  `.execute(tx)
  return rows.sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** When the first of the waiting events is ripe; null when none waits. */
export async function findNextRipe(tx: Tx): Promise<Date | null> {
  const { rows } = await sql<{ at: Date | null }>`
    select min(o.created_at + make_interval(secs => coalesce(t.linger_ms, 0) / 1000.0)) as at
    from webhook_outbox o left join unnest(${lingering.map(({ topic }) => topic)}::text[],
      ${lingering.map(({ lingerMs }) => lingerMs)}::integer[]) as t (topic, linger_ms) on t.topic = o.topic
  `.execute(tx)
  return rows[0]?.at ?? null
}

/** Enabled webhooks of the organizations, locked against deletion, in the order of their keys. */
export async function lockSubscribers(tx: Tx, orgIds: readonly string[]): Promise<Subscriber[]> {
  const rows = await tx
    .selectFrom('webhook')
    .select(['orgId', 'id', 'siteId', 'topics'])
    .select(sql<boolean>`coalesce(doc -> 'single_event_per_message' = 'true', false)`.as('singleEvent'))
    .where('orgId', '=', anyOf(orgIds))
    .where('enabled', '=', true)
    .orderBy('orgId')
    .orderBy('id')
    .forKeyShare()
    .execute()
  return rows
}
