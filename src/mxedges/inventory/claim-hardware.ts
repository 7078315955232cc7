import type { OrgScope } from '../../access/scope.ts'
import { claimDevicesIn } from '../../devices/inventory/claim-devices.ts'
import type { ClaimPlan } from '../../devices/inventory/plan-claim.ts'
import { NOT_FOUND, settleUnknown } from '../../devices/inventory/select-devices.ts'
import type { RegisteredDevice } from '../../devices/registry/store.ts'
import { shareOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { claimMxedges } from './claim-mxedge.ts'
import type { RegisteredMxedge } from '../registry/store.ts'

export type RegisteredHardware = RegisteredDevice | (RegisteredMxedge & { readonly type: 'mxedge' })

/**
 * Claims devices and edge appliances by the codes on their labels, in one change. Where both have a code, the device is
 * claimed.
 * @param codes As the client wrote them.
 */
export function claimHardware(
  ctx: Context,
  scope: OrgScope,
  codes: readonly string[],
): Promise<ClaimPlan<RegisteredHardware>> {
  const at = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    await shareOrg(tx, scope)
    const devices = await claimDevicesIn(tx, scope, { codes, at })
    const others = devices.refused.filter(({ reason }) => reason === NOT_FOUND).map(({ code }) => code)
    return merge(devices, await claimMxedges(tx, scope, { codes: others, at }))
  })
}

/** The plan of edge appliances decides on the codes that no device has. */
function merge(devices: ClaimPlan, mxedges: ClaimPlan<RegisteredMxedge>): ClaimPlan<RegisteredHardware> {
  const [added, duplicated] = [mxedges.added, mxedges.duplicated].map((part) =>
    part.map(({ code, device }) => ({ code, device: { ...device, type: 'mxedge' as const } })),
  )
  return {
    added: [...devices.added, ...(added ?? [])],
    duplicated: [...devices.duplicated, ...(duplicated ?? [])],
    refused: settleUnknown(devices.refused, mxedges.refused, ({ code }) => code),
  }
}
