import type { SitesScope } from '../access/scope.ts'
import { shareOrg } from '../orgs/store.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/database/db.ts'
import { queueConfiguration } from './commands/queue-configuration.ts'
import { assertCluster } from './create-mxedge.ts'
import type { Document } from '../platform/json/document.ts'
import { type Mxedge, auditDocument, mergeMxedge, titleOf } from './mxedge.ts'
import { recordChange } from './record-change.ts'
import { lockMxedge, updateMxedgeRow } from './store.ts'

/**
 * Replaces the top-level fields that `body` names; see mergeDocument().
 * @throws AppError not_found; invalid naming the field.
 */
export function updateMxedge(
  ctx: Context,
  scope: SitesScope,
  { id, body }: { readonly id: string; readonly body: Document },
): Promise<Mxedge> {
  const at = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    await shareOrg(tx, scope)
    const before = await lockMxedge(tx, scope, id)
    const content = mergeMxedge(before, body)
    await assertCluster(tx, scope, content.mxclusterId)
    const after = await updateMxedgeRow(tx, scope, { ...content, id, at })
    if (after.registeredKey !== null) await queueConfiguration(tx, scope, { mxedge: after, appliedSha256: null, at })
    await recordChange(tx, scope, {
      mxedge: after,
      message: `Update ${titleOf(after)}`,
      text: 'Changed',
      before: auditDocument(before),
      after: auditDocument(after),
      at,
    })
    return after
  })
}
