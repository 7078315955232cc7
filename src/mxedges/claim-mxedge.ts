import type { OrgScope } from '../access/scope.ts'
import { plainClaimCode } from '../devices/registry/claim-code.ts'
import { shareOrg } from '../orgs/store.ts'
import type { Context } from '../platform/context.ts'
import { type Tx, inTx } from '../platform/db.ts'
import { type AppError, invalidField } from '../platform/errors.ts'
import { type Mxedge, titleOf } from './mxedge.ts'
import { recordChange } from './record-change.ts'
import { type RegisteredMxedge, lockRegistryByCode, updateOwner } from './registry/store.ts'
import { insertMxedge, isRegistrationCodeUsed } from './store.ts'

/**
 * Claims hardware by the code on its label, in any spelling; it registers with the same code.
 * @throws AppError invalid where no unclaimed hardware has this code; the error does not reveal an owner.
 */
export function claimMxedge(ctx: Context, scope: OrgScope, code: string): Promise<Mxedge> {
  const at = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    await shareOrg(tx, scope)
    const hardware = await findClaimable(tx, code)
    const { id, mac, serial, model, claimCode } = hardware
    const content = { name: mac, model, mxclusterId: null, doc: {} }
    const mxedge = await insertMxedge(tx, scope, { ...content, id, mac, serial, registrationCode: claimCode, at })
    await updateOwner(tx, scope, id)
    const message = `Claim ${titleOf(mxedge)}`
    await recordChange(tx, scope, { mxedge, message, text: 'Claimed', after: { mac, serial, model }, at })
    return mxedge
  })
}

async function findClaimable(tx: Tx, code: string): Promise<RegisteredMxedge> {
  const plain = plainClaimCode(code)
  const hardware = plain === null ? undefined : await lockRegistryByCode(tx, plain)
  if (plain === null || hardware === undefined) throw refusal('no edge appliance has this claim code')
  if (hardware.orgId !== null || (await isRegistrationCodeUsed(tx, plain))) throw refusal('already claimed')
  return hardware
}

function refusal(why: string): AppError {
  return invalidField('code', why)
}
