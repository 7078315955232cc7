import { actorOf } from '../../access/authorize.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import { actorScope } from '../../access/scope.ts'
import { appendAccountChange } from '../account-log.ts'
import type { LoginGuard } from '../parts.ts'
import type { Person } from './person.ts'
import { lockProvedPassword, provePassword } from './prove-password.ts'
import { deleteAdmin, hasOtherAdmin, lockOrgsAdministeredBy } from './store.ts'

/**
 * Deletes the account with its tokens and sessions. No organization is left without an administrator.
 *
 * @throws AppError invalid, which names the organization; as provePassword(), except for accounts that an identity
 *   provider vouches for, which have no password.
 */
export async function deleteSelf(
  ctx: Context,
  guard: LoginGuard,
  { caller, password }: { readonly caller: Person; readonly password: string | undefined },
): Promise<void> {
  const { adminId } = caller
  const { ssoId } = caller.principal
  if (ssoId === null) await provePassword(ctx, guard, { caller, password, field: 'password' })
  const actor = actorOf(caller)
  await inTx(ctx, async (tx) => {
    for (const { id, name } of await lockOrgsAdministeredBy(tx, caller))
      if (ssoId === null && !(await hasOtherAdmin(tx, actorScope(actor, id), adminId)))
        throw new AppError('invalid', `The organization ${name} would be left without an administrator`, { org_id: id })
    if (ssoId === null) await lockProvedPassword(tx, caller)
    const message = 'Delete account'
    await appendAccountChange(tx, { adminId, actor, message, at: ctx.clock.now() })
    await deleteAdmin(tx, caller)
  })
}
