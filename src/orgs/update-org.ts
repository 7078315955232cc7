import type { OrgScope } from '../access/scope.ts'
import { appendAudit } from '../events/append.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/db.ts'
import type { Document } from '../platform/document.ts'
import { auditDocumentOfOrg, mergeOrg } from './org.ts'
import { type Org, lockOrgAlone, updateOrg as writeOrg } from './store.ts'

/** Replaces the top-level fields that `body` names; see mergeDocument(). */
export async function updateOrg(ctx: Context, scope: OrgScope, body: Document): Promise<Org> {
  const at = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    const before = await lockOrgAlone(tx, scope)
    const after = await writeOrg(tx, scope, { ...mergeOrg(before, body), at })
    await appendAudit(tx, scope, {
      message: `Update Org "${after.name}"`,
      before: auditDocumentOfOrg(before),
      after: auditDocumentOfOrg(after),
      at,
    })
    return after
  })
}
