import type { OrgScope } from '../../access/scope.ts'
import { type ClaimPlan, planClaim } from '../../devices/inventory/plan-claim.ts'
import { NOT_FOUND } from '../../devices/inventory/select-devices.ts'
import { plainClaimCode } from '../../devices/registry/claim-code.ts'
import { shareOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { invalidField } from '../../platform/errors.ts'
import { titleOf } from '../mxedge.ts'
import { recordChange } from '../record-change.ts'
import { type RegisteredMxedge, lockRegistryByCodes, updateOwner } from '../registry/store.ts'
import { insertMxedge, listMxedgesByCodes, listUsedRegistrationCodes } from '../store.ts'

/** Claims hardware by the code on its label, in any spelling; it registers with the same code. */
export function claimMxedge(ctx: Context, scope: OrgScope, code: string): Promise<ClaimPlan<RegisteredMxedge>> {
  return inTx(ctx, async (tx) => {
    await shareOrg(tx, scope)
    return claimMxedges(tx, scope, { codes: [code], at: ctx.clock.now() })
  })
}

/**
 * Returns the hardware that was claimed by a single code.
 * @throws AppError invalid if no unclaimed hardware has it; the error does not reveal whether another organization's has.
 */
export function claimedMxedge({ added: [claimed], duplicated }: ClaimPlan<RegisteredMxedge>): RegisteredMxedge {
  if (claimed !== undefined) return claimed.device
  const isOwn = duplicated.length > 0
  throw invalidField('code', isOwn ? 'already claimed' : 'no unclaimed edge appliance has this claim code')
}

/**
 * Claims hardware by its codes. A code that can't be claimed does not affect the others. The caller has locked the
 * organization.
 * @param codes As the client wrote them.
 */
export async function claimMxedges(
  tx: Tx,
  scope: OrgScope,
  { codes, at }: { readonly codes: readonly string[]; readonly at: Date },
): Promise<ClaimPlan<RegisteredMxedge>> {
  const plain = codes.flatMap((code) => plainClaimCode(code) ?? [])
  const registered = await lockRegistryByCodes(tx, plain)
  const plan = planClaim(
    codes,
    [...registered, ...(await listUnlabeled(tx, scope, { plain, registered }))],
    scope.orgId,
  )
  // An appliance without a label may have got this code at random, and a code suffices to register an appliance.
  const used = await listUsedRegistrationCodes(
    tx,
    plan.added.map(({ device }) => device.claimCode),
  )
  const free = plan.added.filter(({ device }) => !used.has(device.claimCode))
  for (const { device } of free) await addMxedge(tx, scope, { hardware: device, at })
  const taken = plan.added.filter(({ device }) => used.has(device.claimCode))
  return { ...plan, added: free, refused: [...plan.refused, ...taken.map(({ code }) => ({ code, reason: NOT_FOUND }))] }
}

/** Lists the organization's appliances that got their codes at random: clients read those codes as claim codes too. */
async function listUnlabeled(
  tx: Tx,
  scope: OrgScope,
  { plain, registered }: { readonly plain: readonly string[]; readonly registered: readonly RegisteredMxedge[] },
): Promise<RegisteredMxedge[]> {
  const labeled = new Set(registered.map(({ claimCode }) => plainClaimCode(claimCode)))
  const unlabeled = await listMxedgesByCodes(
    tx,
    scope,
    plain.filter((code) => !labeled.has(code)),
  )
  return unlabeled.map(
    ({ id, orgId, mac, serial, model, registrationCode: claimCode, registrationEpoch, createdAt }) => {
      return { id, orgId, mac: mac ?? '', serial: serial ?? '', model, claimCode, registrationEpoch, createdAt }
    },
  )
}

async function addMxedge(
  tx: Tx,
  scope: OrgScope,
  { hardware, at }: { readonly hardware: RegisteredMxedge; readonly at: Date },
): Promise<void> {
  const { id, mac, serial, model, claimCode } = hardware
  const content = { name: mac, model, mxclusterId: null, doc: {} }
  const registration = { registrationCode: claimCode, registrationEpoch: hardware.registrationEpoch + 1 }
  const mxedge = await insertMxedge(tx, scope, { ...content, ...registration, id, mac, serial, at })
  await updateOwner(tx, scope, id)
  const message = `Claim ${titleOf(mxedge)}`
  await recordChange(tx, scope, { mxedge, message, text: 'Claimed', after: { mac, serial, model }, at })
}
