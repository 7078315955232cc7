import { type Caller, may } from '../../access/authorize.ts'
import type { SitesScope } from '../../access/scope.ts'
import { AppError } from '../../platform/errors.ts'
import type { InventorySearch } from './store-search.ts'

/**
 * True if the caller sees the claim codes of the organization's devices: anyone with the code of a released device may
 * claim it, so the rule is that of the claim. `no_reveal` does not hide them: clients identify devices by them.
 */
export function seesClaimCodes(caller: Caller, { orgId }: Pick<SitesScope, 'orgId'>): boolean {
  return may(caller, { orgId }, 'write')
}

/**
 * Asserts that a search does not test guesses of claim codes that the caller does not see.
 * @throws AppError forbidden.
 */
export function assertCodesUnasked(
  caller: Caller,
  scope: Pick<SitesScope, 'orgId'>,
  { conditions }: Pick<InventorySearch, 'conditions'>,
): void {
  if (conditions.magic !== undefined && !seesClaimCodes(caller, scope))
    throw new AppError(
      'forbidden',
      'magic: only callers who may write to the whole organization can search by claim codes',
    )
}
