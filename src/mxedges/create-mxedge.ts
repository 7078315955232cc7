import { uuidv7 } from '../platform/uuidv7.ts'
import type { InOrg, OrgScope } from '../access/scope.ts'
import { newClaimCode } from '../devices/device.ts'
import { shareOrg } from '../orgs/store.ts'
import type { Context } from '../platform/context.ts'
import { type Tx, inTx } from '../platform/database/db.ts'
import { invalidField } from '../platform/errors.ts'
import { shareCluster } from './clusters/store.ts'
import type { Document } from '../platform/json/document.ts'
import { type Mxedge, auditDocument, mergeMxedge, titleOf } from './mxedge.ts'
import { recordChange } from './record-change.ts'
import { insertMxedge } from './store.ts'

/**
 * Creates an appliance without a label: a virtual machine, which registers with its own code.
 * @throws AppError invalid naming the field.
 */
export function createMxedge(ctx: Context, scope: OrgScope, body: Document): Promise<Mxedge> {
  const at = ctx.clock.now()
  const content = mergeMxedge(null, body)
  return inTx(ctx, async (tx) => {
    await shareOrg(tx, scope)
    await assertCluster(tx, scope, content.mxclusterId)
    const unlabeled = { mac: null, serial: null, registrationCode: newClaimCode(), registrationEpoch: 1 }
    const mxedge = await insertMxedge(tx, scope, { ...content, ...unlabeled, id: uuidv7(), at })
    const message = `Add ${titleOf(mxedge)}`
    await recordChange(tx, scope, { mxedge, message, text: 'Added', after: auditDocument(content), at })
    return mxedge
  })
}

/**
 * Asserts that the organization has the cluster, which then can't be deleted until `tx` ends. @throws AppError invalid.
 */
export async function assertCluster(tx: Tx, scope: InOrg, mxclusterId: string | null): Promise<void> {
  if (mxclusterId !== null && !(await shareCluster(tx, scope, mxclusterId)))
    throw invalidField('mxcluster_id', 'the organization has no such cluster')
}
