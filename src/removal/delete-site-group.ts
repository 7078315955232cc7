import type { OrgScope } from '../access/scope.ts'
import { lockGrants } from '../accounts/grants/store.ts'
import { revokeGrants } from '../accounts/grants/revoke-grants.ts'
import { appendAudit } from '../events/append.ts'
import { auditDocument } from '../orgs/site-groups/site-group.ts'
import { deleteSiteGroupRow, lockSiteGroup, updateMembers } from '../orgs/site-groups/store.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/database/db.ts'

/** Removes the group from its sites, and every privilege that names it. */
export async function deleteSiteGroup(ctx: Context, scope: OrgScope, id: string): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    const grants = await lockGrants(tx, scope)
    const group = await lockSiteGroup(tx, scope, id)
    const message = `Delete Site Group "${group.name}"`
    await updateMembers(tx, scope, { groupId: group.id, siteIds: [], at })
    const lost = await revokeGrants(tx, scope, { place: { groupId: group.id }, message, at, grants })
    await deleteSiteGroupRow(tx, scope, group.id)
    await appendAudit(tx, scope, { message, before: { ...auditDocument(group), ...lost }, at })
  })
}
