import { sql } from 'kysely'
import type { Harness } from '../harness.ts'

/** Counts lanes whose number of messages is wrong, that would never be served, or with a message that claims would not find. */
export async function countBrokenLanes({ ctx }: Harness): Promise<number> {
  const { rows } = await sql<{ broken: number }>`
    select count(*)::int as broken from webhook_lane l join webhook w on w.org_id = l.org_id and w.id = l.webhook_id
    where l.pending <> (select count(*) from webhook_message m where m.org_id = l.org_id and m.webhook_id = l.webhook_id)
      or (l.pending > 0 and w.enabled and l.next_at is null and l.lease_until is null)
      or exists (select from webhook_message m
        where m.org_id = l.org_id and m.webhook_id = l.webhook_id and m.due_at < l.due_from)
  `.execute(ctx.db)
  return rows[0]?.broken ?? -1
}
