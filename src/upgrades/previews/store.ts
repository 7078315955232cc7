import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Reader, type Tx, json } from '../../platform/database/db.ts'
import type { StoredMxedgePlan } from '../mxedges/plan-preview.ts'
import type { StoredPlan } from './preview.ts'

/** An organization has no more plans than this: the oldest one makes room. */
const MAX_PREVIEWS = 20

export interface NewPreview {
  readonly id: string
  readonly origin: string
  readonly body: Readonly<Record<string, unknown>>
  readonly plan: StoredPlan | StoredMxedgePlan
  readonly createdAt: Date
  readonly expiresAt: Date
}

/** Inserts a plan, and deletes those of the organization that have expired or are too many. */
export async function insertPreview(tx: Tx, scope: InOrg, preview: NewPreview): Promise<void> {
  const { createdAt, body, plan, ...row } = preview
  await deleteExpiredPreviews(tx, createdAt, scope)
  await sql`
    delete from upgrade_preview where org_id = ${scope.orgId} and id in (
      select id from upgrade_preview where org_id = ${scope.orgId} order by id desc offset ${MAX_PREVIEWS - 1})
  `.execute(tx)
  await tx
    .insertInto('upgradePreview')
    .values({ ...row, orgId: scope.orgId, body: json(body), plan: json(plan) })
    .execute()
}

/** Deletes plans that have expired, of one organization or of all. */
export async function deleteExpiredPreviews(tx: Tx, now: Date, scope?: InOrg): Promise<void> {
  const expired = tx.deleteFrom('upgradePreview').where('expiresAt', '<=', now)
  await (scope === undefined ? expired : expired.where('orgId', '=', scope.orgId)).execute()
}

export interface PreviewKey {
  readonly id: string
  readonly now: Date
}

/** Finds the request of a plan that has not expired. */
export function findPreviewRequest(
  reader: Reader,
  scope: InOrg,
  { id, now }: PreviewKey,
): Promise<{ readonly origin: string; readonly body: Record<string, unknown> } | undefined> {
  return reader
    .selectFrom('upgradePreview')
    .select(['origin', 'body'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('expiresAt', '>', now)
    .executeTakeFirst()
}

/**
 * Deletes a plan that has not expired, and returns it. A concurrent call returns nothing. The caller knows by its origin
 * which kind of plan it is; see findRequest().
 */
export async function deletePreview<P extends StoredPlan | StoredMxedgePlan>(
  tx: Tx,
  scope: InOrg,
  { id, now }: PreviewKey,
): Promise<P | undefined> {
  const taken = await tx
    .deleteFrom('upgradePreview')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('expiresAt', '>', now)
    .returning('plan')
    .executeTakeFirst()
  return taken?.plan as P | undefined
}

/** True if the plan was started, and is an upgrade now. */
export async function isStarted(reader: Reader, scope: InOrg, id: string): Promise<boolean> {
  const upgrade = await reader
    .selectFrom('orgUpgrade')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .unionAll(reader.selectFrom('mxedgeUpgrade').select('id').where('orgId', '=', scope.orgId).where('id', '=', id))
    .executeTakeFirst()
  return upgrade !== undefined
}
