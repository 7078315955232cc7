import type { LoginThrottle } from '../../access/login-throttle.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import type { Mail } from '../../platform/mail.ts'
import { composeMail } from '../compose-mail.ts'
import { consumeMailQuota } from '../mail-quota.ts'
import { createMailedToken } from '../mailed-token.ts'
import type { AccountParts } from '../parts.ts'
import { postMail } from '../post-mail.ts'
import type { CaptchaAnswer } from '../registration/registration.ts'
import { verifyCaptcha } from '../registration/verify-captcha.ts'
import { findAdminByEmail } from '../self/store.ts'

const VALID_MS = 30 * 60_000

export interface RecoveryRequest {
  readonly email: string
  readonly captcha: CaptchaAnswer
  readonly srcIp: string
}

/**
 * Mails a link to choose a new password if the address has an account. The lookup and the mail come after the reply, so
 * neither its content nor its time reveals whether there is an account.
 *
 * @throws AppError rate_limited by address; as verifyCaptcha().
 */
export async function recover(
  ctx: Context,
  parts: AccountParts & { readonly throttle: LoginThrottle },
  { email, captcha, srcIp }: RecoveryRequest,
): Promise<void> {
  parts.throttle.takeFrom(srcIp)
  await verifyCaptcha(ctx, parts, { answer: captcha, srcIp })
  prepareMail(ctx, email)
    .then((mail) => mail !== null && postMail(ctx, parts.mailer, mail))
    .catch((error: unknown) => ctx.log.error({ err: error }, 'could not start a recovery'))
}

async function prepareMail(ctx: Context, email: string): Promise<Mail | null> {
  const now = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    const admin = await findAdminByEmail(tx, email)
    if (admin === undefined || !(await consumeMailQuota(tx, recoveryOf(email), now))) return null
    const token = await createMailedToken(tx, {
      adminId: admin.id,
      purpose: 'recover',
      doc: {},
      now,
      validMs: VALID_MS,
    })
    return recoveryMail(email, `${ctx.baseUrl}/verify/recover?token=${token}`)
  })
}

/** Recovery mails have a quota of their own: a person who keeps registering the address must not lock its owner out. */
function recoveryOf(email: string): string {
  return `recovery of ${email}`
}

function recoveryMail(to: string, url: string): Mail {
  return composeMail({
    to,
    subject: 'Choose a new password',
    paragraphs: [
      'Somebody, hopefully you, asked for a new password of your Signalbox account.',
      'Open the page within 30 minutes to choose one. Then you are signed out everywhere else, and',
      'your API tokens and linked OAuth providers end.',
      'If it was not you, do nothing: your password stays as it is.',
    ],
    action: { label: 'Choose a new password', url },
  })
}
