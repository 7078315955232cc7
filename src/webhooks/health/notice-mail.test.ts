import { expect, it } from 'vitest'
import { noticeMail } from './notice-mail.ts'

const of = (webhookId: string, siteId: string | null) => ({ orgId: 'o', siteId, webhookId, name: '', hours: 1 })

it.each([
  ['the page of the only webhook', [of('w', null)], '/orgs/o/webhooks/w'],
  ['the page of the only webhook of a site', [of('w', 's')], '/orgs/o/webhooks/w?site=s'],
  ['those of the organization', [of('w', null), of('x', null)], '/orgs/o/webhooks'],
  ['those of their only site', [of('w', 's'), of('x', 's')], '/orgs/o/webhooks?site=s'],
  ['those of the organization, with some of sites', [of('w', 's'), of('x', 't')], '/orgs/o/webhooks'],
])('leads to %s', (_, webhooks, path) => {
  const { text } = noticeMail('ada@example.test', webhooks, 'https://box.test')
  expect(text.split('\n')).toContain(`https://box.test${path}`)
})
