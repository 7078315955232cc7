import { type Selectable, sql } from 'kysely'
import { type Db, type Tx, countRows } from '../../platform/database/db.ts'
import type { LaneWebhook } from '../delivery/store.ts'
import type { LaneKey } from '../lanes/store.ts'
import { isWebhookOf } from '../store-look-ups.ts'
import type { WebhookPingTable } from '../tables.ts'

/** A ping with its webhook. */
export interface WaitingPing extends LaneKey {
  readonly id: string
  readonly body: Buffer
  readonly webhook: LaneWebhook
}

/** The webhook must be locked. */
export async function insertPing(tx: Tx, ping: Selectable<WebhookPingTable>): Promise<void> {
  await tx.insertInto('webhookPing').values(ping).execute()
}

export function countPings(tx: Tx, { orgId, webhookId }: LaneKey): Promise<number> {
  return countRows(tx.selectFrom('webhookPing').where('orgId', '=', orgId).where('webhookId', '=', webhookId))
}

/** Bounds the messages that are read to count pings among them. */
const MAX_SEARCHED = 1000

/** Counts the pings among the newest thousand messages that a receiver has to fetch. */
export async function countFetchedPings(tx: Tx, { orgId, webhookId }: LaneKey): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count
    from (
      select topic from webhook_message
      where org_id = ${orgId} and webhook_id = ${webhookId} and due_at >= '-infinity'
      order by due_at desc, id desc limit ${MAX_SEARCHED}) newest
    where topic = 'ping'
  `.execute(tx)
  return rows[0]?.count ?? 0
}

/** Deletes the waiting pings of a webhook, whose lane must be locked. @returns These pings, oldest first. */
export async function deletePings(
  tx: Tx,
  { orgId, webhookId }: LaneKey,
): Promise<{ readonly id: string; readonly body: Buffer }[]> {
  const taken = await tx
    .deleteFrom('webhookPing')
    .where('orgId', '=', orgId)
    .where('webhookId', '=', webhookId)
    .returning(['id', 'body'])
    .execute()
  return taken.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

export interface PingSearch {
  readonly limit: number
  readonly exceptOrgIds: readonly string[]
  readonly exceptWebhookIds: readonly string[]
}

/** Lists the oldest ping of each webhook, oldest first. */
export async function listPings(
  db: Db,
  { limit, exceptOrgIds, exceptWebhookIds }: PingSearch,
): Promise<readonly WaitingPing[]> {
  const { rows } = await sql<Omit<WaitingPing, 'webhook'> & LaneWebhook>`
    select p.org_id, p.webhook_id, p.id, p.body, w.site_id, w.doc, w.secrets, w.xmin::text as version
    from (
      select distinct on (org_id, webhook_id) * from webhook_ping
      where not org_id = any(${exceptOrgIds}::uuid[]) and not webhook_id = any(${exceptWebhookIds}::uuid[])
      order by org_id, webhook_id, id) p
      join webhook w on ${isWebhookOf('w', 'p')}
    order by p.id limit ${limit}
  `.execute(db)
  return rows.map(({ siteId, doc, secrets, version, ...ping }) =>
    Object.assign(ping, { webhook: { siteId, doc, secrets, version } }),
  )
}

export async function deletePing(tx: Tx, { orgId, webhookId, id }: LaneKey & { readonly id: string }): Promise<void> {
  await tx
    .deleteFrom('webhookPing')
    .where('orgId', '=', orgId)
    .where('webhookId', '=', webhookId)
    .where('id', '=', id)
    .execute()
}
