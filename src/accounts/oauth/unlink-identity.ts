import type { Actor } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import { appendAccountChange } from '../account-log.ts'
import { mayUnlink } from './decide-unlink.ts'
import { deleteIdentity, listLinkedProviders, lockAdmin } from './store.ts'

export interface UnlinkRequest {
  readonly adminId: string
  readonly provider: string
  /** Providers that can be signed in with. */
  readonly configured: readonly string[]
  readonly actor: Actor
}

/**
 * @throws AppError not_found where it is not linked, invalid where nobody could sign in to the account
 *   any more. Two at once are decided one after the other.
 */
export async function unlinkIdentity(ctx: Context, request: UnlinkRequest): Promise<void> {
  const { adminId, provider, configured, actor } = request
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    const admin = await lockAdmin(tx, adminId)
    const linked = await listLinkedProviders(tx, adminId)
    if (admin === undefined || !linked.includes(provider)) throw notFound(provider)
    if (!mayUnlink({ ...admin, provider, usable: linked.filter((name) => configured.includes(name)) }))
      throw new AppError('invalid', 'This is the only way to sign in; set a password first.')
    const before = { provider, ...(await deleteIdentity(tx, adminId, provider)) }
    await appendAccountChange(tx, { adminId, actor, message: `OAuth unlinked: ${provider}`, before, at })
  })
}
