import { actorOf } from '../../access/authorize.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import { appendAccountChange } from '../account-log.ts'
import type { LoginGuard } from '../parts.ts'
import type { Person } from '../self/person.ts'
import { lockProvedPassword, provePassword } from '../self/prove-password.ts'
import { generateRecoveryCodes, recoveryCodeHash } from './recovery-codes.ts'
import { replaceRecoveryCodes, updateSecondFactor } from './store.ts'
import { secondFactorKey, consumeCode } from './consume-code.ts'

export interface SecondFactorChange {
  readonly caller: Person
  readonly password: string | undefined
  readonly code: string | undefined
}

/** @throws AppError as provePasswordAndCode(). */
export async function disableSecondFactor(ctx: Context, guard: LoginGuard, change: SecondFactorChange): Promise<void> {
  const { caller } = change
  const { adminId } = caller
  await provePasswordAndCode(ctx, guard, change)
  await inTx(ctx, async (tx) => {
    await lockProvedPassword(tx, caller)
    await updateSecondFactor(tx, caller, { totpSecret: null, totpSince: null, totpLastStep: '0' })
    await replaceRecoveryCodes(tx, caller, [])
    const message = 'Disable two factor authentication'
    await appendAccountChange(tx, { adminId, actor: actorOf(caller), message, at: ctx.clock.now() })
  })
}

/**
 * Replaces the recovery codes. The old ones stop working.
 *
 * @throws AppError as provePasswordAndCode().
 */
export async function renewRecoveryCodes(
  ctx: Context,
  guard: LoginGuard,
  change: SecondFactorChange,
): Promise<readonly string[]> {
  const { caller } = change
  const { adminId } = caller
  await provePasswordAndCode(ctx, guard, change)
  const codes = generateRecoveryCodes()
  await inTx(ctx, async (tx) => {
    await lockProvedPassword(tx, caller)
    await replaceRecoveryCodes(tx, caller, codes.map(recoveryCodeHash))
    const message = 'Renew recovery codes'
    await appendAccountChange(tx, { adminId, actor: actorOf(caller), message, at: ctx.clock.now() })
  })
  return codes
}

/**
 * Requires both factors, and the code even in a session that has passed it: a stolen session, with or without the password,
 * may not weaken the second factor.
 *
 * @throws AppError not_found if no second factor is enrolled; as provePassword(); forbidden without a code; invalid for a
 *   wrong one.
 */
async function provePasswordAndCode(ctx: Context, guard: LoginGuard, change: SecondFactorChange): Promise<void> {
  const { caller, password, code } = change
  const { adminId } = caller
  if (!caller.principal.hasSecondFactor) throw new AppError('not_found', 'Two factor authentication is not enabled')
  await provePassword(ctx, guard, { caller, password, field: 'password' })
  if (code === undefined) throw new AppError('forbidden', 'This needs a two factor code (two_factor)')
  guard.throttle.take(secondFactorKey(adminId))
  if (!(await inTx(ctx, (tx) => consumeCode(ctx, tx, caller, code))))
    throw new AppError('invalid', 'Invalid two factor code')
  guard.throttle.succeed(secondFactorKey(adminId))
}
