import { systemScope } from '../../access/scope.ts'
import { plainClaimCode } from '../../devices/registry/claim-code.ts'
import { appendAudit } from '../../events/append.ts'
import { appendMxedgeEvents } from '../../events/append-mxedge.ts'
import { shareOrgIfAny } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { invalidField } from '../../platform/errors.ts'
import { type Mxedge, mxedgeOfEvent, titleOf } from '../mxedge.ts'
import { findOrgByCode, lockMxedgeByCode, updateRegistered } from './store.ts'

/** An appliance that has registered. */
export interface Registered {
  readonly mxedgeId: string
  readonly registrationEpoch: number
}

/**
 * Registers an appliance by its code, which only one key may use. The same key may use it again, because an agent that
 * did not receive our answer has to repeat the request.
 * @throws AppError invalid naming `code`; the text is the same for an unknown code and a used one.
 */
export function registerAgent(
  ctx: Context,
  { code, keySha256 }: { readonly code: string; readonly keySha256: string },
): Promise<Registered> {
  const plain = plainClaimCode(code)
  if (plain === null) throw unusable()
  return inTx(ctx, async (tx) => {
    const orgId = await findOrgByCode(tx, plain)
    // The organization is locked before its appliances, as everywhere. Both may have changed since.
    if (orgId === undefined || !(await shareOrgIfAny(tx, { orgId }))) throw unusable()
    const mxedge = await lockMxedgeByCode(tx, { orgId, code: plain })
    if (mxedge === undefined) throw unusable()
    if (mxedge.registeredKey === null) await record(tx, mxedge, { keySha256, at: ctx.clock.now() })
    else if (mxedge.registeredKey !== keySha256) throw unusable()
    return { mxedgeId: mxedge.id, registrationEpoch: mxedge.registrationEpoch }
  })
}

function unusable(): Error {
  return invalidField('code', 'no edge appliance awaits its registration with this code')
}

async function record(
  tx: Tx,
  mxedge: Mxedge,
  { keySha256, at }: { readonly keySha256: string; readonly at: Date },
): Promise<void> {
  const scope = systemScope('gateway', mxedge.orgId)
  await updateRegistered(tx, scope, { id: mxedge.id, keySha256, at })
  const auditId = await appendAudit(tx, scope, {
    message: `An appliance registered as ${titleOf(mxedge)}`,
    siteId: mxedge.siteId,
    after: { registration_epoch: mxedge.registrationEpoch, key_sha256: keySha256, mxedge_id: mxedge.id },
    at,
  })
  const event = { mxedge: mxedgeOfEvent(mxedge), type: 'ME_REGISTERED' as const, auditId, text: 'Registered' }
  await appendMxedgeEvents(tx, scope, [event], at)
}
