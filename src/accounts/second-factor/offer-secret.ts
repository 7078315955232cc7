import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import { AppError } from '../../platform/errors.ts'
import type { Person } from '../self/person.ts'
import { openSecret, sealSecret } from './sealed-secret.ts'
import { lockSecondFactor, updateSecondFactor } from './store.ts'
import { generateTotpSecret, totpUri } from './totp.ts'

/** How long a secret that was offered can be enrolled. */
export const OFFER_MS = 10 * 60_000

/**
 * A secret for the caller's authenticator app, and the address for its QR code. Nothing changes by it
 * until a code proves that the app has it. Asked again within ten minutes, the same caller gets the
 * same, because a page shows it as a picture and as text; nobody else gets it, or could enrol it.
 *
 * @throws AppError invalid where one is enrolled already, or for an identity provider's account.
 */
export async function offerSecret(
  ctx: Context,
  caller: Person,
): Promise<{ readonly secret: string; readonly uri: string }> {
  const { adminId } = caller
  const nowMs = ctx.clock.now().getTime()
  return inTx(ctx, async (tx) => {
    const known = await lockSecondFactor(tx, caller)
    if (known.ssoId !== null) throw new AppError('invalid', 'The account is kept by an identity provider.')
    if (known.totpSince !== null) throw new AppError('invalid', 'Two factor authentication is enabled already.')
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
