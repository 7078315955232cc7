import { randomBytes } from 'node:crypto'
import { uuidv7 } from '../../platform/uuidv7.ts'
import type { LoginThrottle } from '../../access/authentication/login-throttle.ts'
import { strictestPolicy } from '../../orgs/org-settings/setting.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { AppError, invalidField } from '../../platform/errors.ts'
import type { Mail } from '../../platform/outbound/mail.ts'
import type { RegistrationDocument } from '../tables.ts'
import { sha256 } from '../../platform/secrets.ts'
import { composeMail } from '../mail/compose-mail.ts'
import { decidePassword, defaultPasswordRules } from '../decide-password.ts'
import { consumeMailQuota } from '../mail/mail-quota.ts'
import type { AccountParts, AccountSettings } from '../parts.ts'
import { postMail } from '../mail/post-mail.ts'
import { isTrustedUrl } from '../trusted-url.ts'
import { decideAdmission } from './decide-admission.ts'
import { type Registration, VERIFY_WITHIN_MS } from './registration.ts'
import { findInvitingSetting, hasAccount, insertPending, isInvited } from './store.ts'
import { verifyCaptcha } from './verify-captcha.ts'

/**
 * Stores a registration and mails a link to its address. The account is created once the link is used. The work and the
 * reply are the same whether the address is new, pending or has an account: only its owner learns that, by mail.
 *
 * @throws AppError rate_limited by IP address; invalid for an unacceptable password; forbidden if the person needs an
 *   invitation; as verifyCaptcha().
 */
export async function register(
  ctx: Context,
  parts: AccountParts & { readonly throttle: LoginThrottle },
  { registration, srcIp }: { readonly registration: Registration; readonly srcIp: string },
): Promise<void> {
  const { settings, passwords, mailer, throttle } = parts
  // Each registration costs a hash and a mail.
  throttle.takeFrom(srcIp)
  const unfit = decidePassword(registration.password, registration.email, defaultPasswordRules)
  if (unfit !== null) throw invalidField('password', unfit)
  await verifyCaptcha(ctx, parts, { answer: registration.captcha, srcIp })
  // Hash before any lookup: this also makes guessing invite codes slow.
  const passwordHash = await passwords.hash(registration.password)
  const mail = await inTx(ctx, async (tx) => {
    const now = ctx.clock.now()
    await requireAdmission(tx, settings, { registration, now })
    const { email } = registration
    if (!(await consumeMailQuota(tx, email, now))) return null
    if (await hasAccount(tx, email)) return existingAccountMail(email)
    const token = randomBytes(32).toString('base64url')
    await insertPending(tx, {
      id: uuidv7(),
      tokenHash: sha256(token),
      email,
      passwordHash,
      doc: { ...pendingDocument(ctx, settings, registration), ...(await pendingInvite(tx, registration)) },
      createdAt: now,
      expiresAt: addMs(now, VERIFY_WITHIN_MS),
    })
    return verificationMail(email, `${ctx.baseUrl}/verify/register?token=${token}`)
  })
  if (mail !== null) postMail(ctx, mailer, mail)
}

async function requireAdmission(
  tx: Tx,
  settings: AccountSettings,
  { registration, now }: { readonly registration: Registration; readonly now: Date },
): Promise<void> {
  const { email, inviteCode, inviteToken } = registration
  const invited = inviteToken !== null && (await isInvited(tx, { tokenHash: sha256(inviteToken), email, now }))
  switch (decideAdmission(settings, { inviteCode, isInvited: invited })) {
    case 'admitted':
      return
    case 'closed':
      throw new AppError('forbidden', 'Registration is closed')
    case 'not_invited':
      throw new AppError('forbidden', 'Registration needs an invitation')
  }
}

function pendingDocument(
  ctx: Context,
  settings: AccountSettings,
  { document: { return_to, ...document } }: Registration,
): RegistrationDocument {
  return {
    no_tracking: settings.gdpr,
    ...document,
    ...(return_to !== undefined && isTrustedUrl(return_to, ctx.baseUrl, settings) && { return_to }),
  }
}

/**
 * Checks the password by the current rules of the inviting organization: only its hash remains when the invitation is
 * applied.
 */
async function pendingInvite(
  tx: Tx,
  { email, password, inviteToken }: Registration,
): Promise<Pick<RegistrationDocument, 'invite_token_hash' | 'unfit_for_invite'>> {
  if (inviteToken === null) return {}
  const tokenHash = sha256(inviteToken)
  const setting = await findInvitingSetting(tx, tokenHash)
  const rules = strictestPolicy(setting === undefined ? [] : [setting])
  const reason = decidePassword(password, email, rules)
  return {
    invite_token_hash: tokenHash.toString('hex'),
    ...(reason !== null && { unfit_for_invite: { reason, min_length: rules.minLength } }),
  }
}

function verificationMail(to: string, url: string): Mail {
  return composeMail({
    to,
    subject: 'Finish your registration',
    paragraphs: [
      'Somebody, hopefully you, registered this address for a Signalbox account.',
      'To finish, open the page and press its button within 24 hours.',
      'If it was not you, do nothing: without that there is no account. Do not press the button either, because the account would have a password that somebody else knows.',
    ],
    action: { label: 'Finish the registration', url },
  })
}

function existingAccountMail(to: string): Mail {
  return composeMail({
    to,
    subject: 'You already have an account',
    paragraphs: [
      'Somebody, hopefully you, registered this address for a Signalbox account, but you already have an account.',
      'Nothing has changed. Sign in with your password, or ask for a new one if you have forgotten it.',
      'If it was not you, you can ignore this mail.',
    ],
  })
}
