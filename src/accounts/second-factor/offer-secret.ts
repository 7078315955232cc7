import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import type { Person } from '../self/person.ts'
import { openSecret, sealSecret } from './sealed-secret.ts'
import { lockSecondFactor, updateSecondFactor } from './store.ts'
import { generateTotpSecret, totpUri } from './totp.ts'

/** How long an offered secret can be enrolled. */
export const OFFER_MS = 10 * 60_000

/**
 * Returns a secret for the caller's authenticator app, and the URI for its QR code. The account does not change until a
 * code proves that the app has the secret. A caller who asks again within five minutes gets the same secret, because a
 * page shows it as a picture and as text. Nobody else can get or enroll it.
 *
 * @throws AppError invalid if a second factor is enrolled already, or if an identity provider vouches for the account.
 */
export async function offerSecret(
  ctx: Context,
  caller: Person,
): Promise<{ readonly secret: string; readonly uri: string }> {
  const { adminId } = caller
  const nowMs = ctx.clock.now().getTime()
  return inTx(ctx, async (tx) => {
    const known = await lockSecondFactor(tx, caller)
    if (known.ssoId !== null) throw new AppError('invalid', 'An identity provider manages the account')
    if (known.totpSince !== null) throw new AppError('invalid', 'Two factor authentication is already enabled')
    const before = known.totpSecret === null ? null : openSecret(ctx.secrets, adminId, known.totpSecret)
    const offeredTo = offeredToOf(caller)
    if (before !== null && before.offeredTo === offeredTo && nowMs - before.offeredAtMs < OFFER_MS / 2)
      return { secret: before.secret, uri: totpUri(before.secret, known.email) }
    const secret = generateTotpSecret()
    const totpSecret = sealSecret(ctx.secrets, adminId, { secret, offeredTo, offeredAtMs: nowMs })
    await updateSecondFactor(tx, caller, { totpSecret })
    return { secret, uri: totpUri(secret, known.email) }
  })
}

/** The session or token that a secret is shown to. */
export function offeredToOf({ principal }: Person): string {
  return principal.sessionHash?.toString('hex') ?? principal.tokenId ?? 'basic'
}
