import { uuidv7 } from '../../platform/uuidv7.ts'
import type { OrgScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import { shareOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { omitSecrets } from '../../orgs/secrets/secrets.ts'
import type { Document } from '../../platform/json/document.ts'
import { mergeCluster, titleOf } from './cluster.ts'
import { type Cluster, insertCluster } from './store.ts'

export function createCluster(ctx: Context, scope: OrgScope, body: Document): Promise<Cluster> {
  const at = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    await shareOrg(tx, scope)
    const cluster = await insertCluster(tx, scope, { id: uuidv7(), doc: mergeCluster({}, body), at })
    await appendAudit(tx, scope, { message: `Add ${titleOf(cluster)}`, after: omitSecrets(cluster.doc), at })
    return cluster
  })
}
