import { type MailContent, composeMail } from '../../accounts/mail/compose-mail.ts'
import type { Mail } from '../../platform/outbound/mail.ts'
import { disables } from './decide-notice.ts'

/** A webhook that has failed for so many hours. */
export interface MailedWebhook {
  readonly orgId: string
  /** Null: it is one of the organization. */
  readonly siteId: string | null
  readonly webhookId: string
  readonly name: string
  readonly hours: number
}

const MAX_LISTED = 20

/**
 * Composes the mail about webhooks of an organization that fail or that were disabled.
 * @param baseUrl The address of the service, for the link to the console.
 */
export function noticeMail(to: string, webhooks: readonly MailedWebhook[], baseUrl: string): Mail {
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
        ? 'Messages that wait are kept for a week. They are sent when you repair the receiver and enable the webhook again; events that happen until then are not sent to it. Messages that were given up after their last attempt are kept for a week, too: send them again on the page of the webhook, or by the operation replay.'
        : 'Messages that wait are kept and sent again. A webhook that fails for 72 hours is disabled.',
    ],
    ...actionFor(webhooks, baseUrl),
  })
}

/** A mail has one link: to the page of the only webhook, with the last answers of its receiver, or to their list. */
function actionFor(webhooks: readonly MailedWebhook[], baseUrl: string): Pick<MailContent, 'action'> {
  const [first, ...others] = webhooks
  if (first === undefined) return {}
  const { orgId, siteId, webhookId } = first
  const isOfSite = siteId !== null && others.every((other) => other.siteId === siteId)
  const site = isOfSite ? `?site=${siteId}` : ''
  const list = `${baseUrl}/orgs/${orgId}/webhooks`
  return others.length > 0
    ? { action: { label: 'Open the webhooks', url: `${list}${site}` } }
    : { action: { label: 'Open the webhook', url: `${list}/${webhookId}${site}` } }
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
