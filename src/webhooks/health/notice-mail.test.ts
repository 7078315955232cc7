import { expect, it } from 'vitest'
import { type MailedWebhook, noticeMail } from './notice-mail.ts'

const of = (webhookId: string, siteId: string | null, disabledWhy: MailedWebhook['disabledWhy'] = null) => {
  const names = { name: '', orgName: 'Acme <https://evil.test>' }
  return {
    orgId: 'o',
    siteId,
    webhookId,
    ...names,
    failingSince: new Date('2026-03-01T12:34:56Z'),
    isPulled: false,
    disabledWhy,
  }
}
const mailOf = (webhooks: readonly MailedWebhook[]) => noticeMail('ada@example.test', webhooks, 'https://box.test')
const ofAcme = 'of the organization "Acme _https___evil_test_"'
const many = (siteId: string | null) => Array.from({ length: 52 }, (_, index) => of(`w${index}`, siteId))

it('leads to the page of each webhook', () => {
  const { text, links } = mailOf([of('w', null), of('x', 's')])
  expect(links).toEqual(['https://box.test/orgs/o/webhooks/w', 'https://box.test/orgs/o/webhooks/x?site=s'])
  for (const link of links) expect(text.split('\n')).toContain(link)
})

it.each([
  ['of the organization', many(null), 'https://box.test/orgs/o/webhooks?failing=true'],
  ['of a site', many('s'), 'https://box.test/orgs/o/webhooks?site=s&failing=true'],
  ['of two places, to no list', [of('w', null), ...many('s')], 'https://box.test/orgs/o/webhooks/w48?site=s'],
  [
    'of two organizations, to no list, but to webhooks of both',
    [...many(null), { ...of('w', null), orgId: 'p' }],
    'https://box.test/orgs/p/webhooks/w',
  ],
])('leads from 50 webhooks to the list of all: those %s', (_, webhooks, last) => {
  const { text, links } = mailOf(webhooks)
  expect(text).toContain(`\n${webhooks.length - 50} more fail or have been disabled.\n`)
  expect(links.at(-1)).toBe(last)
})

it.each([
  ['A webhook fails', [of('w', null)], `w ${ofAcme} has taken no message since 2026-03-01 12:34 UTC.`],
  ['2 webhooks fail', [of('v', null), of('w', null)], `w ${ofAcme} has taken no message since 2026-03-01 12:34 UTC.`],
  [
    'A webhook has been disabled',
    [of('v', null, 'failing'), of('w', null)],
    `v ${ofAcme} has taken no message since 2026-03-01 12:34 UTC, so the webhook has been disabled.`,
  ],
  [
    '2 webhooks have been disabled',
    [of('v', null, 'gone'), of('w', null, 'failing')],
    `v ${ofAcme} answered 410 Gone, so the webhook has been disabled.`,
  ],
])('has the subject "%s", and says what will happen', (subject, webhooks, sentence) => {
  const mail = mailOf(webhooks)
  expect(mail.subject).toBe(subject)
  expect(mail.text).toContain(`The receiver of webhook ${sentence}\n`)
  const isOf = (why: (of: MailedWebhook) => boolean) => webhooks.some(why)
  expect(mail.text.includes('After 72 hours it is disabled')).toBe(isOf(({ disabledWhy }) => disabledWhy === null))
  expect(mail.text.includes('wait for a disabled webhook')).toBe(isOf(({ disabledWhy }) => disabledWhy !== null))
})

it('says of messages that nobody fetches how long they are kept', () => {
  const { text } = mailOf([{ ...of('w', null), isPulled: true }])
  expect(text).toContain(`The receiver of webhook w ${ofAcme} has acknowledged no message since 2026-03-01 12:34 UTC.`)
  expect(text).toContain('Messages that a receiver does not fetch are kept for a week.')
  expect(text).not.toContain('disabled')
  expect(mailOf([of('x', null)]).text).not.toContain('fetch')
})
