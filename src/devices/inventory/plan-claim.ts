import { plainClaimCode } from '../registry/claim-code.ts'
import type { RegisteredDevice } from '../registry/store.ts'

export interface ClaimPlan {
  /** Devices to claim, each with the code as the client wrote it. */
  readonly added: readonly ClaimedByCode[]
  /** Devices that the organization already has. */
  readonly duplicated: readonly ClaimedByCode[]
  readonly refused: readonly { readonly code: string; readonly reason: string }[]
}

export interface ClaimedByCode {
  readonly code: string
  readonly device: RegisteredDevice
}

/**
 * Sorts claim codes into those to claim, duplicates and refusals. A device of another organization is refused without
 * naming the owner. A second spelling of a code in the list counts as a duplicate.
 * @param codes As the client wrote them.
 * @param registered The registry's devices of these codes; others are ignored.
 */
export function planClaim(codes: readonly string[], registered: readonly RegisteredDevice[], orgId: string): ClaimPlan {
  const byCode = new Map(registered.map((device) => [plainClaimCode(device.claimCode), device]))
  const seen = new Set<string>()
  const plan = {
    added: [] as ClaimedByCode[],
    duplicated: [] as ClaimedByCode[],
    refused: [] as { code: string; reason: string }[],
  }
  for (const code of codes) {
    const plain = plainClaimCode(code)
    const device = plain === null ? undefined : byCode.get(plain)
    if (device === undefined) plan.refused.push({ code, reason: plain === null ? 'invalid claim code' : 'not found' })
    else if (device.orgId !== null && device.orgId !== orgId) plan.refused.push({ code, reason: 'already claimed' })
    else if (device.orgId === orgId || seen.has(device.id)) plan.duplicated.push({ code, device })
    else plan.added.push({ code, device })
    if (device !== undefined) seen.add(device.id)
  }
  return plan
}
