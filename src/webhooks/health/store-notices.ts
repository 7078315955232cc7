import { sql } from 'kysely'
import type { Reader, Tx } from '../../platform/database/db.ts'
import type { FailingSigns } from './decide-notice.ts'
import type { serviceReasons } from './disabled.ts'
import type { LaneKey } from '../lanes/store.ts'

/** A lane with waiting messages whose attempts fail, or that nobody fetches. */
export interface FailingLane extends LaneKey, FailingSigns {
  readonly siteId: string | null
}

/** Lists enabled webhooks that have failed since `before` or longer and have messages to send. */
export async function listFailingLanes(
  reader: Reader,
  { before, only = null }: { readonly before: Date; readonly only?: LaneKey | null },
): Promise<FailingLane[]> {
  const { rows } = await sql<FailingLane>`
    select l.org_id, l.webhook_id, w.site_id, l.failing_since, l.failures, l.pulled as is_pulled, coalesce(n.hours, 0) as noticed
    from webhook_lane l
      join webhook w on w.org_id = l.org_id and w.id = l.webhook_id and w.enabled
      left join webhook_notice n
        on n.org_id = l.org_id and n.webhook_id = l.webhook_id and n.failing_since = l.failing_since
    where l.failing_since <= ${before} and l.pending > 0
      and (${only?.webhookId ?? null}::uuid is null
        or (l.org_id, l.webhook_id) = (${only?.orgId ?? null}::uuid, ${only?.webhookId ?? null}::uuid))
    order by l.org_id, l.webhook_id
  `.execute(reader)
  return rows
}

/** A notice of a webhook whose receiver wants no further messages has the time at which it was disabled as `failingSince`. */
export async function upsertNotice(
  tx: Tx,
  { orgId, webhookId, failingSince, hours }: LaneKey & { readonly failingSince: Date; readonly hours: number },
): Promise<void> {
  await sql`
    insert into webhook_notice (org_id, webhook_id, failing_since, hours)
    values (${orgId}, ${webhookId}, ${failingSince}, ${hours})
    on conflict (org_id, webhook_id) do update
    set failing_since = excluded.failing_since, hours = excluded.hours,
      mailed_hours = case when webhook_notice.failing_since = excluded.failing_since then webhook_notice.mailed_hours else 0 end
  `.execute(tx)
}

/** A notice that admins have not got by mail. */
export interface UnmailedNotice extends LaneKey {
  readonly siteId: string | null
  readonly hours: number
  readonly failingSince: Date
  /** Why the service has disabled the webhook; null while it is enabled. */
  readonly disabledWhy: keyof typeof serviceReasons | null
  /** True if the receiver fetches the messages. */
  readonly isPulled: boolean
  readonly name: string
  readonly orgName: string
}

/**
 * Lists notices to mail, first those of webhooks that are disabled, and then by organization. One is true as long as
 * the webhook has failed since then and was disabled for nothing else: a later notice, or none, replaces it.
 */
export async function listUnmailedNotices(reader: Reader): Promise<UnmailedNotice[]> {
  const { rows } = await sql<UnmailedNotice>`
    select n.org_id, n.webhook_id, w.site_id, n.hours, n.failing_since, w.disabled_why, l.pulled as is_pulled, coalesce(w.doc ->> 'name', '') as name,
      org.name as org_name
    from webhook_notice n join webhook w on w.org_id = n.org_id and w.id = n.webhook_id
      join webhook_lane l on l.org_id = n.org_id and l.webhook_id = n.webhook_id
      join org on org.id = n.org_id
    where n.mailed_hours < n.hours and case when w.disabled_why = 'gone' then w.disabled_at = n.failing_since
      else l.failing_since = n.failing_since and (w.enabled or w.disabled_why = 'failing') end
    order by w.enabled, n.org_id, n.webhook_id
  `.execute(reader)
  return rows
}

/** Marks a notice as mailed, unless a later stage has been reached since. */
export async function markMailed(tx: Tx, { orgId, webhookId, hours }: UnmailedNotice): Promise<void> {
  await tx
    .updateTable('webhookNotice')
    .set({ mailedHours: hours })
    .where('orgId', '=', orgId)
    .where('webhookId', '=', webhookId)
    .where('hours', '=', hours)
    .execute()
}
