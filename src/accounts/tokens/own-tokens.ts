import { uuidv7 } from '../../platform/uuidv7.ts'
import { actorOf } from '../../access/authorize.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import { appendAccountChange } from '../account-log.ts'
import { assertRoomForToken } from '../limits.ts'
import type { LoginGuard } from '../parts.ts'
import type { Person } from '../self/person.ts'
import { proveRecently } from '../self/prove-recently.ts'
import { lockSignIn } from '../sessions/store.ts'
import { countTokens, deleteToken, getToken, insertToken, lockToken, updateToken } from './store.ts'
import { type CreatedToken, type Token, auditDocument, generateTokenKey } from './token.ts'

/**
 * Creates a token with the current privileges of its owner, as they change. Source: spec, "Authentication", 2 and 4.
 *
 * @throws AppError forbidden for accounts of an identity provider; as proveRecently().
 */
export async function createOwnToken(
  ctx: Context,
  guard: LoginGuard,
  { caller, name, password }: { readonly caller: Person; readonly name: string; readonly password: string | undefined },
): Promise<CreatedToken> {
  const { adminId } = caller
  if (caller.principal.ssoId !== null)
    throw new AppError('forbidden', 'Admins of single sign-on have no API tokens; use a token of the organization')
  await proveRecently(ctx, guard, { caller, password })
  const at = ctx.clock.now()
  const { key, ...hashed } = generateTokenKey()
  const token = await inTx(ctx, async (tx) => {
    // The owner of the account may have just recovered it from the caller.
    if ((await lockSignIn(tx, caller, caller.principal.passwordModifiedAt)) === undefined)
      throw new AppError('unauthenticated', 'The account was deleted, or its password was changed')
    assertRoomForToken('An admin', await countTokens(tx, caller), ctx.limits.tokensPerAccount)
    const id = uuidv7()
    await insertToken(tx, caller, { id, ...hashed, name, privileges: null, srcIps: null, createdAt: at })
    const message = `Add API Token "${name}"`
    await appendAccountChange(tx, { adminId, actor: actorOf(caller), message, after: { name }, at })
    return getToken(tx, caller, id)
  })
  return { token, key }
}

export async function renameOwnToken(
  ctx: Context,
  caller: Person,
  { id, name }: { readonly id: string; readonly name: string | undefined },
): Promise<Token> {
  return inTx(ctx, async (tx) => {
    const before = await lockToken(tx, caller, id)
    const after = { ...before, name: name ?? before.name }
    await updateToken(tx, caller, after)
    await appendAccountChange(tx, {
      adminId: caller.adminId,
      actor: actorOf(caller),
      message: `Update API Token "${after.name}"`,
      before: auditDocument(before),
      after: auditDocument(after),
      at: ctx.clock.now(),
    })
    return after
  })
}

export async function deleteOwnToken(ctx: Context, caller: Person, id: string): Promise<void> {
  await inTx(ctx, async (tx) => {
    const before = await lockToken(tx, caller, id)
    await deleteToken(tx, caller, id)
    await appendAccountChange(tx, {
      adminId: caller.adminId,
      actor: actorOf(caller),
      message: `Delete API Token "${before.name}"`,
      before: auditDocument(before),
      at: ctx.clock.now(),
    })
  })
}
