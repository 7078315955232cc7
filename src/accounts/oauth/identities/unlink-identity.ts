import { actorOf } from '../../../access/authorize.ts'
import type { Context } from '../../../platform/context.ts'
import { inTx } from '../../../platform/database/db.ts'
import { AppError, notFound } from '../../../platform/errors.ts'
import { appendAccountChange } from '../../account-log.ts'
import type { Person } from '../../self/person.ts'
import { lockAdmin } from '../../self/store.ts'
import { mayUnlink } from './decide-unlink.ts'
import { deleteIdentity, listLinkedProviders } from '../store.ts'

export interface UnlinkRequest {
  readonly caller: Person
  readonly provider: string
  /** The providers through which people can sign in. */
  readonly configured: readonly string[]
}

/**
 * Unlinks the identity of a provider. Concurrent calls for the same account wait for each other.
 *
 * @throws AppError not_found if it is not linked, invalid if it is the last way to sign in to the account.
 */
export async function unlinkIdentity(ctx: Context, request: UnlinkRequest): Promise<void> {
  const { caller, provider, configured } = request
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    const { passwordHash, ssoId } = await lockAdmin(tx, caller)
    const linked = await listLinkedProviders(tx, caller)
    if (!linked.includes(provider)) throw notFound(provider)
    const usable = linked.filter((name) => configured.includes(name))
    if (!mayUnlink({ hasPassword: passwordHash !== null, hasSso: ssoId !== null, provider, usable }))
      throw new AppError('invalid', 'This is the only way to sign in; set a password first')
    const before = { provider, ...(await deleteIdentity(tx, caller, provider)) }
    await appendAccountChange(tx, {
      adminId: caller.adminId,
      actor: actorOf(caller),
      message: `OAuth unlinked: ${provider}`,
      before,
      at,
    })
  })
}
