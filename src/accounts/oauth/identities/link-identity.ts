import { actorOf } from '../../../access/authorize.ts'
import type { Context } from '../../../platform/context.ts'
import { inTx } from '../../../platform/database/db.ts'
import { AppError } from '../../../platform/errors.ts'
import { appendAccountChange } from '../../account-log.ts'
import type { Person } from '../../self/person.ts'
import type { Identity } from '../providers/client.ts'
import { refusal } from '../providers/refusal.ts'
import { lockSignIn } from '../../sessions/store.ts'
import { findAdminByIdentity, insertIdentity, listLinkedProviders } from '../store.ts'

export interface LinkRequest {
  /** As authenticated at the start of the request; the exchange with the provider takes time. */
  readonly caller: Person
  readonly provider: string
  readonly identity: Identity
}

/**
 * Links the identity, so that the admin can sign in with it. Linking it again changes nothing.
 *
 * @throws AppError invalid if it is linked to another account, or if the admin has linked another one of this provider.
 */
export async function linkIdentity(ctx: Context, { caller, provider, identity }: LinkRequest): Promise<void> {
  const { adminId } = caller
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    if ((await lockSignIn(tx, caller, caller.principal.passwordModifiedAt)) === undefined)
      throw new AppError('unauthenticated', 'The account was deleted, or its password was changed')
    const owner = await findAdminByIdentity(tx, provider, identity)
    if (owner?.adminId === adminId) return
    if (owner !== undefined) throw linkedElsewhere(provider)
    if ((await listLinkedProviders(tx, caller)).includes(provider))
      throw refusal('invalid_request', `Another ${provider} account is linked; unlink it first`)
    // Another account may have linked it since the lookup.
    if (!(await insertIdentity(tx, caller, { ...identity, provider }))) throw linkedElsewhere(provider)
    const after = { provider, issuer: identity.issuer, subject: identity.subject }
    const actor = actorOf(caller)
    await appendAccountChange(tx, { adminId, actor, message: `OAuth linked: ${provider}`, after, at })
  })
}

function linkedElsewhere(provider: string): AppError {
  return refusal('invalid_request', `This ${provider} account is linked to another account`)
}
