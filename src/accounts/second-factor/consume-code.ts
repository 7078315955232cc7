import type { AdminScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import type { Tx } from '../../platform/database/db.ts'
import { recoveryCodeHash } from './recovery-codes.ts'
import { openSecret } from './sealed-secret.ts'
import { lockSecondFactor, consumeRecoveryCode, updateSecondFactor } from './store.ts'
import { findTotpStep } from './totp.ts'

/**
 * Consumes a code of the authenticator app, or a recovery code, in the caller's transaction. Once a code of the app has
 * been accepted, neither it nor an earlier one is accepted again.
 *
 * @returns True if the code was right.
 */
export async function consumeCode(ctx: Context, tx: Tx, scope: AdminScope, code: string): Promise<boolean> {
  const known = await lockSecondFactor(tx, scope)
  if (known.totpSecret === null || known.totpSince === null) return false
  const text = code.trim()
  if (!/^\d{6}$/.test(text)) return consumeRecoveryCode(tx, scope, recoveryCodeHash(text))
  const { secret } = openSecret(ctx.secrets, scope.adminId, known.totpSecret)
  const step = findTotpStep(secret, text, ctx.clock.now())
  if (step === null || step <= Number(known.totpLastStep)) return false
  await updateSecondFactor(tx, scope, { totpLastStep: String(step) })
  return true
}

/** The key under which the throttle counts attempts at the second factor, over all sessions of the account. */
export function secondFactorKey(adminId: string): string {
  return `second factor of ${adminId}`
}
