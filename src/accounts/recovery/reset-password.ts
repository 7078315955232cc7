import type { Passwords } from '../../access/authentication/password.ts'
import { type LoginThrottle, guesserAt } from '../../access/authentication/login-throttle.ts'
import { adminScope } from '../../access/scope.ts'
import { passwordPolicyOf } from '../../orgs/org-settings/store.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { invalidField } from '../../platform/errors.ts'
import type { Mailer } from '../../platform/outbound/mail.ts'
import { appendAccountChange } from '../account-log.ts'
import { decidePassword } from '../decide-password.ts'
import { mailedTokenKey, requireValid } from '../mail/mailed-token.ts'
import { type RevokedAccess, auditDocumentOfRevoked, revokeAccess } from '../self/revoke-access.ts'
import { passwordChangedMail } from '../self/password-changed-mail.ts'
import { getAdmin, lockAdmin, updatePassword } from '../self/store.ts'
import { postMail } from '../mail/post-mail.ts'
import type { LoggedIn } from '../sessions/login.ts'
import { openSession } from '../sessions/open-session.ts'
import { getActorName } from '../sessions/store.ts'
import { findMailedToken, consumeMailedToken } from '../mail/store-mailed-token.ts'

export interface ResetParts {
  readonly passwords: Passwords
  readonly mailer: Mailer
  readonly throttle: LoginThrottle
}

export interface ResetRequest {
  readonly token: string
  /** Undefined from older clients: then the old password is cleared, and the session can set a new one. */
  readonly password: string | undefined
  readonly actor: { readonly srcIp: string; readonly userAgent: string | null }
}

/**
 * Sets a new password by a mailed link, and opens a session, which still needs the second factor. All other access to
 * the account ends; see revokeAccess(). The link is used up only by success: after an unacceptable password the person
 * can choose another.
 *
 * @throws AppError not_found; invalid, if the link has expired (`expired`) or the password is unacceptable.
 */
export async function resetPassword(ctx: Context, parts: ResetParts, request: ResetRequest): Promise<LoggedIn> {
  const { password, actor } = request
  const key = mailedTokenKey('recover', request.token)
  const now = ctx.clock.now()
  const { adminId } = requireValid(await findMailedToken(ctx.db, key), now)
  const policy = await passwordPolicyOf(ctx.db, adminId)
  const owner = adminScope(adminId)
  const { email } = await getAdmin(ctx.db, owner)
  const unfit = password === undefined ? null : decidePassword(password, email, policy)
  if (unfit !== null) throw invalidField('password', unfit)
  const passwordHash = password === undefined ? null : await parts.passwords.hash(password)

  const { loggedIn, ended } = await inTx(ctx, async (tx): Promise<{ loggedIn: LoggedIn; ended: RevokedAccess }> => {
    const admin = await lockAdmin(tx, owner)
    requireValid(await consumeMailedToken(tx, key), now)
    await updatePassword(tx, owner, { passwordHash, at: now })
    const ended = await revokeAccess(tx, owner, null)
    const by = { adminId, name: await getActorName(tx, owner), ...actor }
    const before = auditDocumentOfRevoked(ended)
    await appendAccountChange(tx, { adminId, actor: by, message: 'Recover password', before, at: now })
    const secondFactor = admin.totpSince !== null ? 'missing' : 'none'
    const opened = await openSession(ctx, tx, owner, { actor, secondFactor, byPassword: passwordHash !== null })
    return { loggedIn: { opened, email: admin.email, secondFactor }, ended }
  })
  parts.throttle.succeedGuess(email, guesserAt(actor.srcIp))
  postMail(ctx, parts.mailer, passwordChangedMail(email, ended))
  return loggedIn
}
