import { composeMail } from '../../accounts/mail/compose-mail.ts'
import type { Mail } from '../../platform/outbound/mail.ts'
import { disables } from './decide-notice.ts'

/** A webhook that has failed for so many hours. */
export interface MailedWebhook {
  readonly webhookId: string
  readonly name: string
  readonly hours: number
}

const MAX_LISTED = 20

/** Composes the mail about webhooks that fail or that were disabled. */
export function noticeMail(to: string, webhooks: readonly MailedWebhook[]): Mail {
  const isDisabled = webhooks.some(({ hours }) => disables(hours))
  const listed = webhooks.slice(0, MAX_LISTED).map(sentenceOf)
  const others = webhooks.length - listed.length
  return composeMail({
    to,
    subject: isDisabled ? 'A webhook has been disabled' : 'A webhook fails',
    paragraphs: [
      'You get this mail because you administer an organization in Signalbox.',
      ...listed,
      ...(others > 0 ? [`The same is true of ${others} more.`] : []),
      isDisabled
        ? 'Messages that wait are kept for a week. They are sent when you repair the receiver and enable the webhook again.'
        : 'Messages that wait are kept and sent again. A webhook that fails for 72 hours is disabled.',
    ],
  })
}

function sentenceOf({ webhookId, name, hours }: MailedWebhook): string {
  const time = hours === 1 ? 'an hour' : `${hours} hours`
  const failed = `The receiver of webhook ${webhookId}${labelOf(name)} has taken no message for ${time}`
  return disables(hours) ? `${failed}, so the webhook has been disabled.` : `${failed}.`
}

/** Mails contain no texts of users, so that nobody can make the service write a message of theirs. */
function labelOf(name: string): string {
  const label = name
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '_')
    .slice(0, 40)
    .toWellFormed()
    .trim()
  return label === '' ? '' : ` (${label})`
}
