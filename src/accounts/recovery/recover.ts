import type { LoginThrottle } from '../../access/authentication/login-throttle.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import type { Limited } from '../../platform/queues/limit-concurrency.ts'
import type { Mail } from '../../platform/outbound/mail.ts'
import { composeMail } from '../mail/compose-mail.ts'
import { consumeMailQuota } from '../mail/mail-quota.ts'
import { createMailedToken } from '../mail/mailed-token.ts'
import type { AccountParts } from '../parts.ts'
import { postMail } from '../mail/post-mail.ts'
import type { CaptchaAnswer } from '../registration/registration.ts'
import { verifyCaptcha } from '../registration/verify-captcha.ts'
import { findAdminByEmail } from '../self/store.ts'

const VALID_MS = 30 * 60_000

export interface RecoveryRequest {
  readonly email: string
  readonly captcha: CaptchaAnswer
  readonly srcIp: string
}

/** Bounds the work after the replies, so that it neither takes all database connections nor grows without limit. */
export const recoveriesAtOnce = {
  running: 2,
  waiting: 500,
  refusal: 'Too Many Request. Too many recoveries at once.',
}

/**
 * Mails a link to choose a new password if the address has an account. The lookup and the mail come after the reply, so
 * neither its content nor its time reveals whether there is an account. The reply waits for the turn of the lookup.
 *
 * @throws AppError rate_limited by address, and where too many wait; as verifyCaptcha().
 */
export async function recover(
  ctx: Context,
  parts: AccountParts & { readonly throttle: LoginThrottle; readonly limited: Limited },
  { email, captcha, srcIp }: RecoveryRequest,
): Promise<void> {
  parts.throttle.takeFrom(srcIp)
  await verifyCaptcha(ctx, parts, { answer: captcha, srcIp })
  await new Promise<void>((begin, refuse) => {
    const lookUp = async (): Promise<void> => {
      begin()
      await mailLink(ctx, parts, email)
    }
    parts.limited(lookUp).catch(refuse)
  })
}

async function mailLink(ctx: Context, { mailer }: AccountParts, email: string): Promise<void> {
  try {
    const mail = await prepareMail(ctx, email)
    if (mail !== null) postMail(ctx, mailer, mail)
  } catch (error) {
    ctx.log.error({ err: error }, 'could not start a recovery')
  }
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

/** Recovery mails have their own quota: a person who keeps registering the address must not lock its owner out. */
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
