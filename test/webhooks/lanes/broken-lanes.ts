import { sql } from 'kysely'
import type { Harness } from '../harness.ts'

/**
 * Counts lanes that count too few messages, that would never be served, or with a message that claims would not find. Nobody claims
 * the lane of a webhook whose messages are fetched. A lane may count messages that are gone until it is released, and after a crash
 * until the next sweep.
 */
export async function countBrokenLanes({ ctx }: Harness): Promise<number> {
  const { rows } = await sql<{ broken: number }>`
    select count(*)::int as broken from webhook_lane l join webhook w on w.org_id = l.org_id and w.id = l.webhook_id
      cross join lateral (
        select count(*) as messages, min(due_at) as first_due_at from webhook_message m
        where m.org_id = l.org_id and m.webhook_id = l.webhook_id) m
    where l.pending < m.messages or (not l.pulled and (
      (m.messages > 0 and w.enabled and l.next_at is null and l.lease_until is null) or m.first_due_at < l.due_from))
  `.execute(ctx.db)
  return rows[0]?.broken ?? -1
}

/** Counts lanes without a lease that count more messages than they have. */
export async function countOvercountedLanes({ ctx }: Harness): Promise<number> {
  const { rows } = await sql<{ overcounted: number }>`
    select count(*)::int as overcounted from webhook_lane l
    where l.lease_until is null
      and l.pending > (select count(*) from webhook_message m where m.org_id = l.org_id and m.webhook_id = l.webhook_id)
  `.execute(ctx.db)
  return rows[0]?.overcounted ?? -1
}
