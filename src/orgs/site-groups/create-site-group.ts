import { uuidv7 } from '../../platform/uuidv7.ts'
import type { OrgScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import type { Document } from '../../platform/json/document.ts'
import { type SiteGroup, auditDocument, mergeSiteGroup } from './site-group.ts'
import { getSiteGroup, insertSiteGroup, updateMembers } from './store.ts'

/** @throws AppError not_found for a site that the organization does not have. */
export async function createSiteGroup(ctx: Context, scope: OrgScope, body: Document): Promise<SiteGroup> {
  const at = ctx.clock.now()
  const { name, doc, siteIds } = mergeSiteGroup(null, body)
  const id = uuidv7()
  return inTx(ctx, async (tx) => {
    await insertSiteGroup(tx, scope, { id, name, doc, at })
    if (siteIds !== null) await updateMembers(tx, scope, { groupId: id, siteIds, at })
    const group = await getSiteGroup(tx, scope, id)
    await appendAudit(tx, scope, { message: `Add Site Group "${name}"`, after: auditDocument(group), at })
    return group
  })
}
