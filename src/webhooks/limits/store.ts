import { sql } from 'kysely'
import { type InOrg, type PlaceScope, siteIdOf } from '../../access/scope.ts'
import { type Reader, type Tx, anyOf } from '../../platform/database/db.ts'
import { lockAdditions } from '../../orgs/store.ts'
import type { LaneKey } from '../lanes/store.ts'

/** Counts the webhooks of the place; until `tx` ends no other transaction can add one. */
export async function lockWebhookCounts(
  tx: Tx,
  scope: PlaceScope,
): Promise<{ readonly org: number; readonly site: number | null }> {
  const siteId = siteIdOf(scope)
  await lockAdditions(tx, scope)
  const { org, site } = await tx
    .selectFrom('webhook')
    .select([
      sql<number>`count(*)::int`.as('org'),
      sql<number>`(count(*) filter (where site_id = ${siteId}::uuid))::int`.as('site'),
    ])
    .where('orgId', '=', scope.orgId)
    .executeTakeFirstOrThrow()
  return { org, site: siteId === null ? null : site }
}

/** Returns the number of messages that wait for each webhook of organizations; one without webhooks is missing. */
export async function countPendingOf(reader: Reader, orgIds: readonly string[]): Promise<Map<string, number[]>> {
  const rows = await reader
    .selectFrom('webhookLane')
    .select(['orgId', sql<number[]>`array_agg(pending)`.as('pending')])
    .where('orgId', '=', anyOf(orgIds))
    .groupBy('orgId')
    .execute()
  return new Map(rows.map(({ orgId, pending }) => [orgId, pending]))
}

export interface Pending {
  readonly ofWebhook: number
  /** How many messages wait for each lane of the organization. */
  readonly ofOrg: readonly number[]
  /** Until when messages of former replays are due; null if there were none. */
  readonly replaysUntil: Date | null
}

/** Locks the lane until `tx` ends, and returns what waits for it. */
export async function lockPending(
  tx: Tx,
  { orgId }: InOrg,
  { webhookId }: Pick<LaneKey, 'webhookId'>,
): Promise<Pending> {
  const lane = await tx
    .selectFrom('webhookLane')
    .select(['pending', 'replaysUntil'])
    .where('orgId', '=', orgId)
    .where('webhookId', '=', webhookId)
    .forUpdate()
    .executeTakeFirst()
  const ofOrg = await countPendingOf(tx, [orgId])
  return { ofWebhook: lane?.pending ?? 0, ofOrg: ofOrg.get(orgId) ?? [], replaysUntil: lane?.replaysUntil ?? null }
}
