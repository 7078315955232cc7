import { sql } from 'kysely'
import type { Reader, Tx } from '../../platform/database/db.ts'
import type { LaneKey } from '../lanes/store.ts'
import type { UnfetchedSigns } from './decide-unfetched.ts'

/** A lane whose receiver fetches its messages, but has acknowledged none for some time. */
export interface UnfetchedLane extends LaneKey, UnfetchedSigns {
  readonly siteId: string | null
}

/** Bounds the messages of a lane of which the oldest one is found. They are nearly in the order of their creation. */
const MAX_SEARCHED = 1000

/**
 * Lists lanes of enabled webhooks whose receivers have acknowledged nothing since `before` although messages wait, and of which that is not
 * recorded. The time restarts with each change of the webhook.
 */
export async function listUnfetchedLanes(
  reader: Reader,
  { before, only = null }: { readonly before: Date; readonly only?: LaneKey | null },
): Promise<UnfetchedLane[]> {
  const { rows } = await sql<UnfetchedLane>`
    select l.org_id, l.webhook_id, w.site_id, k.since, case when l.unfetched_since = k.since then l.unfetched_ms end as since_ms
    from webhook_lane l join webhook w on w.org_id = l.org_id and w.id = l.webhook_id and w.enabled
      cross join lateral (
        select greatest(min(m.created_at), w.modified_at, (
          select d.created_at from webhook_delivery d
          where d.org_id = l.org_id and d.webhook_id = l.webhook_id and d.status = 'success'
          order by d.created_at desc limit 1)) as since
        from (
          select created_at from webhook_message
          where org_id = l.org_id and webhook_id = l.webhook_id and due_at >= l.due_from
          order by due_at, id limit ${MAX_SEARCHED}) m
        having count(*) > 0) k
    where l.pulled and l.pending > 0 and l.failing_since is null and k.since <= ${before}
      and (${only?.webhookId ?? null}::uuid is null
        or (l.org_id, l.webhook_id) = (${only?.orgId ?? null}::uuid, ${only?.webhookId ?? null}::uuid))
    order by l.org_id, l.webhook_id
  `.execute(reader)
  return rows
}

/** Records since when the receiver of a lane has acknowledged nothing. */
export async function updateUnfetched(
  tx: Tx,
  { orgId, webhookId, since }: UnfetchedLane,
  sinceMs: number,
): Promise<void> {
  await tx
    .updateTable('webhookLane')
    .set({ unfetchedSince: since, unfetchedMs: sinceMs })
    .where('orgId', '=', orgId)
    .where('webhookId', '=', webhookId)
    .execute()
}

/** Records that the receiver of a lane no longer fetches. The webhook must be locked, so that it acknowledges nothing meanwhile. */
export async function markUnfetched(tx: Tx, { orgId, webhookId, since }: UnfetchedLane): Promise<void> {
  await tx
    .updateTable('webhookLane')
    .set({ failingSince: since })
    .where('orgId', '=', orgId)
    .where('webhookId', '=', webhookId)
    .execute()
}
