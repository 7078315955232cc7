import type { Context } from '../platform/context.ts'
import type { Mail, Mailer } from '../platform/mail.ts'

/**
 * Sends a mail after the answer has been given: how long that takes, and whether it works, must not
 * tell what the mail says. Call it after the commit. A mail that is lost is logged and can be asked
 * for again.
 */
export function postMail(ctx: Pick<Context, 'log'>, mailer: Mailer, mail: Mail): void {
  mailer.send(mail).catch((error: unknown) => ctx.log.error({ err: error }, 'could not send a mail'))
}
