import type { OrgScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import { shareOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import { omitSecrets } from '../../orgs/secrets/secrets.ts'
import { titleOf } from './cluster.ts'
import { countMembers, deleteClusterRow, lockCluster } from './store.ts'

/** @throws AppError not_found; conflict while an edge appliance is in the cluster. */
export async function deleteCluster(ctx: Context, scope: OrgScope, id: string): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    await shareOrg(tx, scope)
    const before = await lockCluster(tx, scope, id)
    const members = await countMembers(tx, scope, id)
    if (members > 0)
      throw new AppError('conflict', `The cluster is in use: mxcluster_id of ${members} edge appliance(s)`)
    await deleteClusterRow(tx, scope, id)
    await appendAudit(tx, scope, { message: `Delete ${titleOf(before)}`, before: omitSecrets(before.doc), at })
  })
}
