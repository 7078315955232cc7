import type { Caller } from '../../access/authorize.ts'
import type { Principal } from '../../access/principal.ts'
import { type AdminScope, adminScope } from '../../access/scope.ts'
import { type At, at } from '../../http/at.ts'
import { AppError } from '../../platform/errors.ts'

/** A caller who is a person with an account, not the token of an organization. */
export type Person = Caller & AdminScope & { readonly principal: Principal & { readonly adminId: string } }

const REFUSAL = 'You do not have permission to perform this action.'

/** @throws AppError forbidden for the token of an organization, which belongs to no person. */
export function requirePerson(caller: Caller, refusal = REFUSAL): Person {
  const { adminId } = caller.principal
  if (adminId === null) throw new AppError('forbidden', refusal)
  return Object.assign({}, caller, adminScope(adminId), { principal: { ...caller.principal, adminId } })
}

/** The place of operations on the caller's own account. Their scope is the person. */
export function person(path: string, { refusal }: { readonly refusal?: string } = {}): At<Person> {
  return at({ audience: 'person', needs: null, path, params: {} }, (_ctx, caller) => requirePerson(caller, refusal))
}
