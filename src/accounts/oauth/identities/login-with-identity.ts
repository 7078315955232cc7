import { type Actor, adminScope } from '../../../access/scope.ts'
import type { Context } from '../../../platform/context.ts'
import { inTx } from '../../../platform/database/db.ts'
import type { LoggedIn } from '../../sessions/login.ts'
import { openSession } from '../../sessions/open-session.ts'
import type { Identity } from '../providers/client.ts'
import { refusal } from '../providers/refusal.ts'
import { lockAdminByIdentity } from '../store.ts'

export interface OauthLogin {
  readonly provider: string
  readonly identity: Identity
  readonly from: Pick<Actor, 'srcIp' | 'userAgent'>
}

/**
 * Opens a session for the admin who has linked the identity; it still needs the second factor.
 *
 * @throws AppError invalid if no admin has linked it: what a provider reports never creates or selects an account.
 */
export async function loginWithIdentity(ctx: Context, { provider, identity, from }: OauthLogin): Promise<LoggedIn> {
  return inTx(ctx, async (tx) => {
    const admin = await lockAdminByIdentity(tx, provider, identity)
    if (admin === undefined) throw refusal('access_denied', `No account is linked to this ${provider} account`)
    const { adminId, email, hasSecondFactor } = admin
    const secondFactor = hasSecondFactor ? 'missing' : 'none'
    const opened = await openSession(ctx, tx, adminScope(adminId), {
      actor: from,
      secondFactor,
      oauthProvider: provider,
    })
    return { opened, email, secondFactor }
  })
}
