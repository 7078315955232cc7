import type { SiteScope } from '../access/scope.ts'
import { appendAudit } from '../events/append.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/db.ts'
import { auditDocument } from './create-site.ts'
import { type Document, mergeSite } from './org.ts'
import { type Site, lockSite, updateSite as writeSite } from './store-sites.ts'

/** Replaces the top-level fields that `body` names; see mergeDocument. */
export async function updateSite(ctx: Context, scope: SiteScope, body: Document): Promise<Site> {
  const at = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    const before = await lockSite(tx, scope)
    const after = await writeSite(tx, scope, { ...mergeSite(before, body), at })
    await appendAudit(tx, scope, {
      message: `Update Site "${after.name}"`,
      siteId: after.id,
      before: auditDocument(before),
      after: auditDocument(after),
      at,
    })
    return after
  })
}
