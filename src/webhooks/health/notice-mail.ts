import { type MailContent, type MailLink, composeMail, plainName } from '../../accounts/mail/compose-mail.ts'
import type { Mail } from '../../platform/outbound/mail.ts'
import { counted } from '../../platform/counted.ts'
import type { UnmailedNotice } from './store-notices.ts'

export type MailedWebhook = Omit<UnmailedNotice, 'hours'>

/** Enough for an admin of many organizations. */
const MAX_LISTED = 50

/**
 * Composes the mail about the webhooks of an admin's organizations that fail or that were disabled.
 * @param webhooks Those that were disabled come first.
 * @param baseUrl The address of the service, for the links to the console.
 */
export function noticeMail(to: string, webhooks: readonly MailedWebhook[], baseUrl: string): Mail {
  const listed = listedOf(webhooks)
  const others = webhooks.length - listed.size
  const disabled = webhooks.filter(({ disabledWhy }) => disabledWhy !== null).length
  const failing = webhooks.filter(({ disabledWhy }) => disabledWhy === null)
  return composeMail({
    to,
    subject: subjectOf(webhooks.length, disabled),
    paragraphs: [
      'You get this mail because you administer an organization in Signalbox.',
      ...webhooks.flatMap((webhook) => (listed.has(webhook) ? [sentenceOf(webhook), pageOf(webhook, baseUrl)] : [])),
      ...(others > 0 ? [`${others} more fail or have been disabled.`] : []),
      ...(failing.some(({ isPulled }) => isPulled)
        ? [
            'Messages that a receiver does not fetch are kept for a week. Then they are given up, and kept for another week, in which you can have them fetched again.',
          ]
        : []),
      ...(failing.some(({ isPulled }) => !isPulled)
        ? ['Messages that wait for a failing webhook are kept and sent again. After 72 hours it is disabled.']
        : []),
      ...(disabled > 0
        ? [
            'Messages that wait for a disabled webhook are kept for a week. They are sent when you repair the receiver and enable the webhook again; events that happen until then are not sent to it. Messages that were given up after their last attempt are kept for a week, too: send them again on the page of the webhook, or by the operation replay.',
          ]
        : []),
    ],
    ...(others > 0 && listOf(webhooks, baseUrl)),
  })
}

/** Organizations take turns: otherwise one with many such webhooks would hide those of the others. */
function listedOf(webhooks: readonly MailedWebhook[]): ReadonlySet<MailedWebhook> {
  const ofOrgs = [...Map.groupBy(webhooks, ({ orgId }) => orgId).values()]
  const places = ofOrgs.flatMap((ofOrg) => ofOrg.map((webhook, place) => ({ webhook, place })))
  const byTurns = places.toSorted((one, other) => one.place - other.place)
  return new Set(byTurns.slice(0, MAX_LISTED).map(({ webhook }) => webhook))
}

function subjectOf(all: number, disabled: number): string {
  if (disabled === 0) return all === 1 ? 'A webhook fails' : `${all} webhooks fail`
  return disabled === 1 ? 'A webhook has been disabled' : `${counted(disabled, 'webhook')} have been disabled`
}

/** Leads to the page that has the last answers of the receiver. */
function pageOf({ orgId, siteId, webhookId }: MailedWebhook, baseUrl: string): MailLink {
  const site = siteId === null ? '' : `?site=${siteId}`
  return { label: 'Open the webhook', url: `${baseUrl}/orgs/${orgId}/webhooks/${webhookId}${site}` }
}

/** Leads to the list of those that fail. The list of an organization has none of its sites, and each site has its own. */
function listOf(webhooks: readonly MailedWebhook[], baseUrl: string): Pick<MailContent, 'action'> {
  const [first, ...others] = webhooks
  if (first === undefined || others.some(({ orgId, siteId }) => orgId !== first.orgId || siteId !== first.siteId))
    return {}
  const site = first.siteId === null ? '' : `site=${first.siteId}&`
  const url = `${baseUrl}/orgs/${first.orgId}/webhooks?${site}failing=true`
  return { action: { label: 'Open the list', url } }
}

/** The mail may arrive much later than it was due, so it says since when the receiver fails. */
function sentenceOf({ orgName, webhookId, name, failingSince, isPulled, disabledWhy }: MailedWebhook): string {
  const label = plainName(name)
  const receiver = `The receiver of webhook ${webhookId}${label === '' ? '' : ` (${label})`} of the organization "${plainName(orgName)}"`
  if (disabledWhy === 'gone') return `${receiver} answered 410 Gone, so the webhook has been disabled.`
  const failed = `${receiver} has ${isPulled ? 'acknowledged' : 'taken'} no message since ${failingSince.toISOString().slice(0, 16).replace('T', ' ')} UTC`
  return disabledWhy === 'failing' ? `${failed}, so the webhook has been disabled.` : `${failed}.`
}
