import { actorOf } from '../../access/authorize.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import { appendAccountChange } from '../account-log.ts'
import type { LoginGuard } from '../parts.ts'
import type { Person } from '../self/person.ts'
import { lockProvedPassword, provePassword } from '../self/prove-password.ts'
import { sessionEnd } from '../sessions/open-session.ts'
import { completeSession, deleteSessionsOfAdmin } from '../sessions/store.ts'
import { OFFER_MS, offeredToOf } from './offer-secret.ts'
import { generateRecoveryCodes, recoveryCodeHash } from './recovery-codes.ts'
import { openSecret } from './sealed-secret.ts'
import { lockSecondFactor, replaceRecoveryCodes, updateSecondFactor } from './store.ts'
import { secondFactorKey } from './consume-code.ts'
import { findTotpStep } from './totp.ts'

export interface EnableRequest {
  readonly caller: Person
  readonly code: string
  readonly password: string | undefined
}

export interface Enabled {
  /** Returned only here. */
  readonly recoveryCodes: readonly string[]
  /** When the caller's session ends now. */
  readonly expiresAt: Date
}

/**
 * Enables the second factor once a code shows that the app has the secret. The caller's session counts as having passed
 * it. All other sessions of the account end, because they were opened without it.
 *
 * @throws AppError as provePassword(); invalid for a wrong code, or if no secret was offered.
 */
export async function enableSecondFactor(ctx: Context, guard: LoginGuard, request: EnableRequest): Promise<Enabled> {
  const { caller, code, password } = request
  const { adminId } = caller
  const { sessionHash } = caller.principal
  await provePassword(ctx, guard, { caller, password, field: 'password' })
  guard.throttle.take(secondFactorKey(adminId))
  const now = ctx.clock.now()
  const recoveryCodes = generateRecoveryCodes()
  const expiresAt = await inTx(ctx, async (tx) => {
    await lockProvedPassword(tx, caller)
    const step = await findStepOfOffer(ctx, tx, { caller, code })
    await updateSecondFactor(tx, caller, { totpSince: now, totpLastStep: String(step) })
    await replaceRecoveryCodes(tx, caller, recoveryCodes.map(recoveryCodeHash))
    await deleteSessionsOfAdmin(tx, caller, sessionHash)
    const end = await sessionEnd(tx, caller, now)
    if (sessionHash !== null) await completeSession(tx, caller, { idHash: sessionHash, expiresAt: end, provedAt: now })
    const message = 'Enable two factor authentication'
    await appendAccountChange(tx, { adminId, actor: actorOf(caller), message, at: now })
    return end
  })
  guard.throttle.succeed(secondFactorKey(adminId))
  return { recoveryCodes, expiresAt }
}

async function findStepOfOffer(
  ctx: Context,
  tx: Tx,
  { caller, code }: Pick<EnableRequest, 'caller' | 'code'>,
): Promise<number> {
  const { adminId } = caller
  const known = await lockSecondFactor(tx, caller)
  if (known.totpSince !== null) throw new AppError('invalid', 'Two factor authentication is already enabled')
  const offered = known.totpSecret === null ? null : openSecret(ctx.secrets, adminId, known.totpSecret)
  const now = ctx.clock.now()
  if (offered === null || offered.offeredTo !== offeredToOf(caller) || now.getTime() - offered.offeredAtMs > OFFER_MS)
    throw new AppError('invalid', 'Ask for a secret first (GET /self/two_factor/token)')
  const step = findTotpStep(offered.secret, code.trim(), now)
  if (step === null) throw new AppError('invalid', 'Invalid two factor code')
  return step
}
