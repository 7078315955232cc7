import type { SiteScope } from '../access/scope.ts'
import { appendAudit } from '../events/append.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/database/db.ts'
import { auditDocument } from './create-site.ts'
import { AppError } from '../platform/errors.ts'
import type { Document } from '../platform/json/document.ts'
import { listChangedGroups, mergeSite } from './org.ts'
import { type Site, lockSiteAlone, updateSiteAtCommit } from './store-sites.ts'

export interface SiteUpdate {
  readonly body: Document
  /** True if the caller may change the site's groups, which decide the privileges of others in it. */
  readonly mayRegroup: boolean
}

/**
 * Replaces the top-level fields that `body` names; see mergeDocument().
 * @throws AppError forbidden for a change of groups by a caller who may not make it.
 */
export async function updateSite(ctx: Context, scope: SiteScope, { body, mayRegroup }: SiteUpdate): Promise<Site> {
  const at = ctx.clock.now()
  const updated = await inTx(ctx, async (tx) => {
    const before = await lockSiteAlone(tx, scope)
    const content = mergeSite(before, body)
    if (!mayRegroup && listChangedGroups(before, content).length > 0)
      throw new AppError('forbidden', "Writers of single sites can't change their sitegroup_ids")
    const row = updateSiteAtCommit(tx, scope, { ...content, at })
    await appendAudit(tx, scope, {
      message: `Update Site "${content.name}"`,
      siteId: scope.siteId,
      siteName: content.name,
      before: auditDocument(before),
      after: auditDocument(content),
      at,
    })
    return row
  })
  return updated()
}
