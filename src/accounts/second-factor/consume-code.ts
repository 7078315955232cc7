import type { AdminScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import type { Tx } from '../../platform/db.ts'
import { recoveryCodeHash } from './recovery-codes.ts'
import { openSecret } from './sealed-secret.ts'
import { lockSecondFactor, consumeRecoveryCode, updateSecondFactor } from './store.ts'
import { findTotpStep } from './totp.ts'

/**
 * Whether the code is right: of the authenticator app, or one of the recovery codes. It is used up by
 * this in the caller's transaction; a code of the app counts once, and none before it any more.
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

/** What the throttle counts tries at the second factor by: over all sessions of the account. */
export function secondFactorKey(adminId: string): string {
  return `second factor of ${adminId}`
}
