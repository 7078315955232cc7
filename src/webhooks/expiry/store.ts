import { sql } from 'kysely'
import type { Db, Tx } from '../../platform/database/db.ts'
import { type LaneKey, nextAt } from '../lanes/store.ts'
import { webhookName } from '../webhook.ts'

/**
 * Lists lanes with messages that were created before `before`, and those of an expiry that was interrupted before it reported
 * what it had parked, in the order of their keys.
 */
export async function listLanesToExpire(db: Db, before: Date): Promise<LaneKey[]> {
  const { rows } = await sql<LaneKey>`
    select org_id, webhook_id from webhook_message where created_at < ${before}
    union
    select org_id, webhook_id from webhook_lane where unreported > 0
    order by 1, 2
  `.execute(db)
  return rows
}

export interface ExpiredPortion {
  /** Parked messages, which have to be reported. */
  readonly parked: number
  /** Messages that have left the lane: those that were parked, and pings. */
  readonly deleted: number
  /** No message that is left in the lane is due before this. */
  readonly dueFrom: Date
}

/**
 * Subtracts messages that have expired from the count of their lane. A process that has the lane loses it, because it may have
 * some of them in memory. The lane must have been locked by lockLanes().
 */
export async function subtractExpired(
  tx: Tx,
  { orgId, webhookId }: LaneKey,
  { parked, deleted, dueFrom }: ExpiredPortion,
): Promise<void> {
  await sql`
    update webhook_lane l
    set pending = l.pending - ${deleted}, unreported = l.unreported + ${parked}, epoch = l.epoch + 1,
      lease_until = null, leased_by = null, next_at = ${nextAt(sql`l.open_until`, sql`${dueFrom}::timestamptz`)}
    from webhook w
    where l.org_id = ${orgId} and l.webhook_id = ${webhookId} and w.org_id = l.org_id and w.id = l.webhook_id
  `.execute(tx)
}

/** Parked messages of a webhook that an event has to report. */
export interface Unreported {
  readonly count: number
  readonly siteId: string | null
  /** The name of the webhook. */
  readonly name: string
}

/** Counts the parked messages of a lane as reported. The lane must be locked. @returns Undefined if there are none. */
export async function consumeUnreported(tx: Tx, { orgId, webhookId }: LaneKey): Promise<Unreported | undefined> {
  const { rows } = await sql<{ count: number; siteId: string | null; doc: Record<string, unknown> }>`
    update webhook_lane l set unreported = 0
    from (select org_id, webhook_id, unreported as count from webhook_lane) u
      join webhook w on w.org_id = u.org_id and w.id = u.webhook_id
    where u.org_id = ${orgId} and u.webhook_id = ${webhookId} and u.count > 0
      and l.org_id = u.org_id and l.webhook_id = u.webhook_id
    returning u.count, w.site_id, w.doc
  `.execute(tx)
  const [row] = rows
  return row && { count: row.count, siteId: row.siteId, name: webhookName(row.doc) }
}
