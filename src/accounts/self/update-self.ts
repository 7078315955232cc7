import { actorOf } from '../../access/authorize.ts'
import type { Passwords } from '../../access/authentication/password.ts'
import { mergeDocument } from '../../http/bodies/documents.ts'
import { passwordPolicyOf } from '../../orgs/org-settings/store.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { invalidField } from '../../platform/errors.ts'
import type { Mailer } from '../../platform/outbound/mail.ts'
import { appendAccountChange } from '../account-log.ts'
import { decidePassword } from '../decide-password.ts'
import type { LoginGuard } from '../parts.ts'
import { postMail } from '../mail/post-mail.ts'
import { auditDocumentOfRevoked, revokeAccess } from './revoke-access.ts'
import { passwordChangedMail } from './password-changed-mail.ts'
import type { Person } from './person.ts'
import { lockProvedPassword, provePassword } from './prove-password.ts'
import { type Admin, getAdmin, lockAdmin, updatePassword, updateProfile } from './store.ts'

export interface SelfParts extends LoginGuard {
  readonly passwords: Passwords
  readonly mailer: Mailer
}

export interface SelfChange {
  /** The fields of the body that owners may set, by their names on the wire; `-name` unsets a field. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly password: string | undefined
  readonly oldPassword: string | undefined
}

/**
 * Changes the given fields, and the password if one is given. A new password ends all other access to the account; see
 * revokeAccess().
 *
 * @throws AppError invalid for an unacceptable password; as provePassword().
 */
export async function updateSelf(
  ctx: Context,
  parts: SelfParts,
  { caller, change }: { readonly caller: Person; readonly change: SelfChange },
): Promise<Admin> {
  const { adminId } = caller
  const { email, sessionHash } = caller.principal
  const passwordHash = change.password === undefined ? null : await hashNewPassword(ctx, parts, { caller, change })
  const at = ctx.clock.now()
  const { admin, ended } = await inTx(ctx, async (tx) => {
    if (passwordHash !== null) await lockProvedPassword(tx, caller)
    await changeProfile(tx, { caller, fields: change.fields, at })
    if (passwordHash !== null) await updatePassword(tx, caller, { passwordHash, at })
    const ended = passwordHash === null ? null : await revokeAccess(tx, caller, sessionHash)
    if (ended !== null) {
      const before = auditDocumentOfRevoked(ended)
      await appendAccountChange(tx, { adminId, actor: actorOf(caller), message: 'Change password', before, at })
    }
    return { admin: await getAdmin(tx, caller), ended }
  })
  if (ended !== null) postMail(ctx, parts.mailer, passwordChangedMail(email, ended))
  return admin
}

async function hashNewPassword(
  ctx: Context,
  parts: SelfParts,
  { caller, change }: { readonly caller: Person; readonly change: SelfChange },
): Promise<string> {
  const { email, via } = caller.principal
  const password = change.password ?? ''
  const { passwordHash, ssoId } = await getAdmin(ctx.db, caller)
  // After a recovery that only cleared the old password there is none to prove: the mail has proved the identity.
  const isRecovering = passwordHash === null && ssoId === null && via === 'session'
  if (!isRecovering) await provePassword(ctx, parts, { caller, password: change.oldPassword, field: 'old_password' })
  const unfit = decidePassword(password, email, await passwordPolicyOf(ctx.db, caller.adminId))
  if (unfit !== null) throw invalidField('password', unfit)
  return parts.passwords.hash(password)
}

async function changeProfile(
  tx: Tx,
  { caller, fields, at }: { readonly caller: Person; readonly fields: SelfChange['fields']; readonly at: Date },
): Promise<void> {
  const { adminId } = caller
  if (Object.keys(fields).length === 0) return
  const known = await lockAdmin(tx, caller)
  const before = documentOf(known)
  const after = mergeDocument(before, fields)
  if (JSON.stringify(after) === JSON.stringify(before)) return
  const { first_name, last_name, no_tracking, ...profile } = after
  await updateProfile(tx, caller, {
    firstName: typeof first_name === 'string' ? first_name : '',
    lastName: typeof last_name === 'string' ? last_name : '',
    noTracking: typeof no_tracking === 'boolean' ? no_tracking : null,
    profile,
  })
  await appendAccountChange(tx, { adminId, actor: actorOf(caller), message: 'Update account', before, after, at })
}

/** The fields that the owner may set, in wire shape. */
function documentOf({ firstName, lastName, noTracking, profile }: Admin): Record<string, unknown> {
  return {
    ...profile,
    first_name: firstName,
    last_name: lastName,
    ...(noTracking !== null && { no_tracking: noTracking }),
  }
}
