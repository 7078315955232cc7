import { type Selectable, sql } from 'kysely'
import { type Db, type Tx, countRows } from '../../platform/database/db.ts'
import type { LaneWebhook } from '../delivery/store.ts'
import type { LaneKey } from '../lanes/store.ts'
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
      join webhook w on w.org_id = p.org_id and w.id = p.webhook_id
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
