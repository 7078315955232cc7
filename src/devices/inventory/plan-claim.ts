import { plainClaimCode } from '../registry/claim-code.ts'
import type { RegisteredDevice } from '../registry/store.ts'
import { NOT_FOUND } from './select-devices.ts'

/** The entry of claimable hardware in the registry of devices, or in another registry. */
export type Claimable = Pick<RegisteredDevice, 'id' | 'claimCode' | 'orgId'>

export interface ClaimPlan<T extends Claimable = RegisteredDevice> {
  /** Devices to claim, each with the code as the client wrote it. */
  readonly added: readonly ClaimedByCode<T>[]
  /** Devices that the organization already has. */
  readonly duplicated: readonly ClaimedByCode<T>[]
  readonly refused: readonly RefusedCode[]
}

export interface RefusedCode {
  /** As the client wrote it. */
  readonly code: string
  readonly reason: string
}

export interface ClaimedByCode<T extends Claimable = RegisteredDevice> {
  readonly code: string
  readonly device: T
}

/**
 * Sorts claim codes into codes to claim, duplicates and refusals. The code of another organization's device gets the
 * same answer as an unknown code, so that nobody learns which codes exist. A second spelling of a code in the list
 * counts as a duplicate.
 * @param codes As the client wrote them.
 * @param registered The registry's devices of these codes; others are ignored.
 */
export function planClaim<T extends Claimable>(
  codes: readonly string[],
  registered: readonly T[],
  orgId: string,
): ClaimPlan<T> {
  const byCode = new Map(registered.map((device) => [plainClaimCode(device.claimCode), device]))
  const seen = new Set<string>()
  const plan = {
    added: [] as ClaimedByCode<T>[],
    duplicated: [] as ClaimedByCode<T>[],
    refused: [] as { code: string; reason: string }[],
  }
  for (const code of codes) {
    const plain = plainClaimCode(code)
    const device = plain === null ? undefined : byCode.get(plain)
    const isForeign = device !== undefined && device.orgId !== null && device.orgId !== orgId
    if (device === undefined || isForeign)
      plan.refused.push({ code, reason: plain === null ? 'invalid claim code' : NOT_FOUND })
    else if (device.orgId === orgId || seen.has(device.id)) plan.duplicated.push({ code, device })
    else plan.added.push({ code, device })
    if (device !== undefined) seen.add(device.id)
  }
  return plan
}
