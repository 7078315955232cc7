import type { OrgScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import { shareOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { omitSecrets } from '../../orgs/secrets/secrets.ts'
import type { Document } from '../../platform/json/document.ts'
import { mergeCluster, titleOf } from './cluster.ts'
import { type Cluster, lockCluster, updateClusterRow } from './store.ts'

/**
 * Replaces the top-level fields that `body` names; see mergeDocument().
 * @throws AppError not_found.
 */
export function updateCluster(
  ctx: Context,
  scope: OrgScope,
  { id, body }: { readonly id: string; readonly body: Document },
): Promise<Cluster> {
  const at = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    await shareOrg(tx, scope)
    const before = await lockCluster(tx, scope, id)
    const after = await updateClusterRow(tx, scope, { id, doc: mergeCluster(before.doc, body), at })
    await appendAudit(tx, scope, {
      message: `Update ${titleOf(after)}`,
      before: omitSecrets(before.doc),
      after: omitSecrets(after.doc),
      at,
    })
    return after
  })
}
