import type { OrgScope } from '../access/scope.ts'
import { appendAudit } from '../events/append.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/database/db.ts'
import type { Document } from '../platform/json/document.ts'
import { auditDocumentOfOrg, mergeOrg } from './org.ts'
import { type Org, lockOrgAlone, updateOrgAtCommit } from './store.ts'

/** Replaces the top-level fields that `body` names; see mergeDocument(). */
export async function updateOrg(ctx: Context, scope: OrgScope, body: Document): Promise<Org> {
  const at = ctx.clock.now()
  const updated = await inTx(ctx, async (tx) => {
    const before = await lockOrgAlone(tx, scope)
    const content = mergeOrg(before, body)
    const row = updateOrgAtCommit(tx, scope, { ...content, at })
    await appendAudit(tx, scope, {
      message: `Update Org "${content.name}"`,
      before: auditDocumentOfOrg(before),
      after: auditDocumentOfOrg(content),
      at,
    })
    return row
  })
  return updated()
}
