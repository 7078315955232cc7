import type { InOrg } from '../../access/scope.ts'
import type { Db } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'

/**
 * Gets the encrypted secrets of a webhook of the organization or of any of its sites.
 * @throws AppError not_found.
 */
export async function getWebhookSecrets(db: Db, scope: InOrg, id: string): Promise<Buffer | null> {
  const row = await db
    .selectFrom('webhook')
    .select('secrets')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined) throw notFound(id)
  return row.secrets
}
