import type { SiteScope } from '../../access/scope.ts'
import { type Reader, type Tx } from '../../platform/database/db.ts'
import { documentText } from '../../platform/sealing/document-column.ts'
import type { SiteSetting } from '../org-settings/store.ts'

/** Undefined while the site has no settings. */
export async function findSiteSetting(reader: Reader, scope: SiteScope): Promise<SiteSetting | undefined> {
  return reader
    .selectFrom('siteSetting')
    .select(['orgId', 'siteId', 'doc', 'createdAt', 'modifiedAt'])
    .where('orgId', '=', scope.orgId)
    .where('siteId', '=', scope.siteId)
    .executeTakeFirst()
}

/** The database does not return the document, which may have a megabyte. */
export async function upsertSiteSetting(
  tx: Tx,
  { orgId, siteId }: SiteScope,
  { doc, at }: { readonly doc: Record<string, unknown>; readonly at: Date },
): Promise<SiteSetting> {
  const written = { doc: documentText(doc), modifiedAt: at }
  const row = await tx
    .insertInto('siteSetting')
    .values({ orgId, siteId, createdAt: at, ...written })
    .onConflict((conflict) => conflict.columns(['orgId', 'siteId']).doUpdateSet(written))
    .returning(['orgId', 'siteId', 'createdAt', 'modifiedAt'])
    .executeTakeFirstOrThrow()
  return { ...row, doc }
}
