import type { InOrg } from '../../access/scope.ts'
import { appendAudit, appendDeviceEvents } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { plainClaimCode } from '../registry/claim-code.ts'
import { type ClaimPlan, type ClaimedByCode, planClaim } from './plan-claim.ts'
import { describeMacs, onlyOf } from './named-devices.ts'
import { insertDevices } from '../store.ts'
import { lockRegistryByCodes, updateOwner } from '../registry/store.ts'
import { takeOverSessions } from '../sessions/take-over-session.ts'

/**
 * Claims devices by the codes on their labels. A code that can't be claimed does not affect the others. A connected
 * device gets its status immediately.
 * @param codes As the client wrote them.
 */
export function claimDevices(ctx: Context, scope: InOrg, codes: readonly string[]): Promise<ClaimPlan> {
  return inTx(ctx, (tx) => claimDevicesIn(tx, scope, { codes, at: ctx.clock.now() }))
}

/** Does the same as claimDevices(), in the transaction of a larger change. */
export async function claimDevicesIn(
  tx: Tx,
  scope: InOrg,
  { codes, at }: { readonly codes: readonly string[]; readonly at: Date },
): Promise<ClaimPlan> {
  const plain = codes.flatMap((code) => plainClaimCode(code) ?? [])
  const plan = planClaim(codes, await lockRegistryByCodes(tx, plain), scope.orgId)
  if (plan.added.length > 0) await addDevices(tx, scope, { added: plan.added, at })
  return plan
}

async function addDevices(
  tx: Tx,
  scope: InOrg,
  { added, at }: { readonly added: readonly ClaimedByCode[]; readonly at: Date },
): Promise<void> {
  const devices = added.map(({ device }) => device)
  const deviceIds = devices.map(({ id }) => id)
  await insertDevices(tx, scope, {
    devices: devices.map(({ id, mac, serial, model, type, claimCode }) => ({
      id,
      mac,
      serial,
      model,
      type,
      claimCode,
    })),
    at,
  })
  await updateOwner(tx, scope, deviceIds)
  const macs = devices.map(({ mac }) => mac)
  const auditId = await appendAudit(tx, scope, {
    message: `Claim ${describeMacs(macs)}`,
    deviceId: onlyOf(deviceIds),
    after: { macs },
    at,
  })
  const deviceEvents = devices.map(({ id, mac, type }) => ({
    device: { id, mac, type, name: null, siteId: null, siteName: null },
    what: 'CLAIMED' as const,
    auditId,
  }))
  await appendDeviceEvents(tx, scope, deviceEvents, at)
  await takeOverSessions(tx, scope, { deviceIds, at })
}
