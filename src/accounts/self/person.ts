import type { Caller } from '../../access/authorize.ts'
import type { Principal } from '../../access/principal.ts'
import { AppError } from '../../platform/errors.ts'

/** A caller that is a person with an account, not an organization's token. */
export type Person = Caller & { readonly principal: Principal & { readonly adminId: string } }

/** @throws AppError forbidden for an organization's token, which is nobody's. */
export function requirePerson(caller: Caller): Person {
  const { adminId } = caller.principal
  if (adminId === null) throw new AppError('forbidden', 'You do not have permission to perform this action.')
  return { ...caller, principal: { ...caller.principal, adminId } }
}
