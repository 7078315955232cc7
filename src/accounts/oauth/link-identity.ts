import type { Actor } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import { AppError } from '../../platform/errors.ts'
import { appendAccountChange } from '../account-log.ts'
import type { Identity } from './client.ts'
import { refusal } from './refusal.ts'
import { lockSignIn } from '../sessions/store.ts'
import { findAdminByIdentity, insertIdentity, listLinkedProviders } from './store.ts'

export interface LinkRequest {
  /** As they were when the request began: the provider takes its time. */
  readonly linker: { readonly adminId: string; readonly passwordModifiedAt: Date | null }
  readonly provider: string
  readonly identity: Identity
  readonly actor: Actor
}

/**
 * Lets the admin sign in with the identity from now on; linking it again changes nothing.
 * @throws AppError invalid where it is another account's, or the admin has linked another of this provider.
 */
export async function linkIdentity(ctx: Context, { linker, provider, identity, actor }: LinkRequest): Promise<void> {
  const { adminId } = linker
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    if ((await lockSignIn(tx, linker)) === undefined)
      throw new AppError('unauthenticated', 'The account is gone, or has another password now.')
    const owner = await findAdminByIdentity(tx, provider, identity)
    if (owner?.adminId === adminId) return
    if (owner !== undefined) throw linkedElsewhere(provider)
    if ((await listLinkedProviders(tx, adminId)).includes(provider))
      throw refusal('invalid_request', `Another ${provider} account is linked; unlink it first.`)
    // Another account may have linked it since it was looked up.
    if (!(await insertIdentity(tx, { ...identity, provider, adminId, linkedAt: at }))) throw linkedElsewhere(provider)
    const after = { provider, issuer: identity.issuer, subject: identity.subject }
    await appendAccountChange(tx, { adminId, actor, message: `OAuth linked: ${provider}`, after, at })
  })
}

function linkedElsewhere(provider: string): AppError {
  return refusal('invalid_request', `This ${provider} account is linked to another account.`)
}
