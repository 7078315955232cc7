import type { Context } from '../../platform/context.ts'
import type { Mail, Mailer } from '../../platform/outbound/mail.ts'

/**
 * Sends a mail without making the reply wait: neither how long sending takes nor whether it works may reveal anything
 * to the requester. Call it after the commit. A lost mail is logged, and the user can ask for another.
 */
export function postMail(ctx: Pick<Context, 'log'>, mailer: Mailer, mail: Mail): void {
  mailer.send(mail).catch((error: unknown) => ctx.log.error({ err: error }, 'could not send a mail'))
}
