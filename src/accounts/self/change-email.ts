import { actorOf } from '../../access/authorize.ts'
import { adminScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import type { Mail } from '../../platform/outbound/mail.ts'
import { appendAccountChange } from '../account-log.ts'
import { composeMail } from '../mail/compose-mail.ts'
import { consumeMailQuota } from '../mail/mail-quota.ts'
import { mailedTokenKey, createMailedToken, requireValid } from '../mail/mailed-token.ts'
import { postMail } from '../mail/post-mail.ts'
import { getActorName } from '../sessions/store.ts'
import { deleteMailedTokens, findMailedToken, consumeMailedToken } from '../mail/store-mailed-token.ts'
import { lockAddress } from '../store.ts'
import type { Person } from './person.ts'
import { lockProvedPassword, provePassword } from './prove-password.ts'
import { findAdminByEmail, lockAdmin, updateEmail } from './store.ts'
import type { SelfParts } from './update-self.ts'

const VALID_MS = 24 * 3600e3

export interface EmailChange {
  readonly caller: Person
  /** In lower case. */
  readonly email: string
  readonly password: string | undefined
}

/**
 * Mails a link to the new address. The account keeps the old address until the link is used. The reply is the same if
 * the new address has an account already: only its owner learns that, by mail.
 *
 * @throws AppError as provePassword().
 */
export async function requestEmailChange(ctx: Context, parts: SelfParts, change: EmailChange): Promise<void> {
  const { caller, email, password } = change
  const { adminId } = caller
  await provePassword(ctx, parts, { caller, password, field: 'password' })
  const now = ctx.clock.now()
  const mail = await inTx(ctx, async (tx) => {
    await lockProvedPassword(tx, caller)
    if (!(await consumeMailQuota(tx, email, now))) return null
    await deleteMailedTokens(tx, caller, 'change_email')
    const purpose = 'change_email'
    const token = await createMailedToken(tx, { adminId, purpose, doc: { email }, now, validMs: VALID_MS })
    const taken = await findAdminByEmail(tx, email)
    return taken === undefined ? changeMail(email, `${ctx.baseUrl}/verify/email?token=${token}`) : takenMail(email)
  })
  if (mail !== null) postMail(ctx, parts.mailer, mail)
}

export interface EmailConfirmation {
  readonly token: string
  /** Null if the call comes from the page behind the link: there the token suffices. */
  readonly caller: Person | null
  readonly srcIp: string
  readonly userAgent: string | null
}

/**
 * Gives the account the address to which the link was mailed, and notifies the old address.
 *
 * @throws AppError not_found, also for a link of another account; invalid if the link has expired (`expired`) or
 *   another account has taken the address since.
 */
export async function confirmEmail(
  ctx: Context,
  { mailer }: Pick<SelfParts, 'mailer'>,
  { token, caller, srcIp, userAgent }: EmailConfirmation,
): Promise<void> {
  const at = ctx.clock.now()
  const changed = await inTx(ctx, async (tx) => {
    const key = mailedTokenKey('change_email', token)
    const { adminId, doc } = requireValid(await findMailedToken(tx, key), at)
    if (caller !== null && caller.adminId !== adminId) throw new AppError('not_found', 'Not found.')
    const owner = adminScope(adminId)
    const { email: from } = await lockAdmin(tx, owner)
    requireValid(await consumeMailedToken(tx, key), at)
    const to = String(doc['email'])
    await lockAddress(tx, to)
    if ((await findAdminByEmail(tx, to)) !== undefined)
      throw new AppError('invalid', 'The address already has an account')
    await updateEmail(tx, owner, to)
    await deleteMailedTokens(tx, owner, 'recover')
    const actor = caller === null ? { adminId, name: await getActorName(tx, owner), srcIp, userAgent } : actorOf(caller)
    const message = 'Change e-mail'
    await appendAccountChange(tx, { adminId, actor, message, before: { email: from }, after: { email: to }, at })
    return from
  })
  postMail(ctx, mailer, changedMail(changed))
}

function changeMail(to: string, url: string): Mail {
  return composeMail({
    to,
    subject: 'Confirm your new address',
    paragraphs: [
      'Somebody, hopefully you, wants to use this address for their Signalbox account.',
      'Open the page and press its button within 24 hours to do so.',
      'If it was not you, do nothing.',
    ],
    action: { label: 'Confirm the address', url },
  })
}

function takenMail(to: string): Mail {
  return composeMail({
    to,
    subject: 'You already have an account',
    paragraphs: [
      'Somebody, hopefully you, wants to use this address for another Signalbox account, but it has one already.',
      'Nothing has changed. If it was not you, you can ignore this mail.',
    ],
  })
}

function changedMail(to: string): Mail {
  return composeMail({
    to,
    subject: 'The address of your account was changed',
    paragraphs: [
      'Your Signalbox account has another e-mail address now, and this one is not used any more.',
      'If it was not you, ask the administrators of your organization for help at once.',
    ],
  })
}
