import type { OrgScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import type { Document } from '../../platform/json/document.ts'
import { shareOrg } from '../store.ts'
import { type SiteGroup, auditDocument, mergeSiteGroup } from './site-group.ts'
import { getSiteGroup, lockSiteGroup, updateMembers, updateSiteGroupRow } from './store.ts'

/**
 * Replaces the top-level fields that `body` names; see mergeDocument(). New `site_ids` are written to the sites.
 * @throws AppError not_found for a site that the organization does not have.
 */
export async function updateSiteGroup(
  ctx: Context,
  scope: OrgScope,
  { id, body }: { readonly id: string; readonly body: Document },
): Promise<SiteGroup> {
  const at = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    // The organization is locked before anything in it, in the same order as a deletion does it.
    await shareOrg(tx, scope)
    const before = await lockSiteGroup(tx, scope, id)
    const { name, doc, siteIds } = mergeSiteGroup(before, body)
    await updateSiteGroupRow(tx, scope, { id, name, doc, at })
    if (siteIds !== null) await updateMembers(tx, scope, { groupId: before.id, siteIds, at })
    const after = await getSiteGroup(tx, scope, id)
    const message = `Update Site Group "${name}"`
    await appendAudit(tx, scope, { message, before: auditDocument(before), after: auditDocument(after), at })
    return after
  })
}
