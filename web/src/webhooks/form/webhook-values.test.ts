import { expect, test } from 'vitest'
import type { Webhook } from '../webhook.ts'
import { bodyOf, emptyValues, fieldsOf, valuesOf } from './webhook-values.ts'

const webhook: Webhook = {
  ...{ id: 'id', org_id: 'org', for_site: false, created_time: 1, modified_time: 1 },
  ...{ enabled: true, type: 'oauth2', verify_cert: false, topics: ['audits'] },
  ...{ name: 'Ticket', url: 'https://example.com/hook', oauth2_scopes: ['a', 'b'], secret: 'known to writers' },
  headers: { 'X-Key': 'one', 'X-Other': 'a: b' },
}

test('a form that is not changed sends nothing but the type and the topics', () => {
  const values = valuesOf(webhook)
  expect(bodyOf(values, values)).toEqual({ type: 'oauth2', topics: ['audits'] })
  expect(bodyOf(emptyValues, emptyValues)).toEqual({ type: 'http-post', topics: [] })
})

test('what has changed is sent in the form of the interface, and a secret only where it was typed', () => {
  const before = valuesOf(webhook)
  expect(before.texts).toMatchObject({ secret: '', headers: 'X-Key: one\nX-Other: a: b', oauth2_scopes: 'a b' })
  const texts = { ...before.texts, verify_cert: 'true', oauth2_scopes: ' a  c', headers: 'X-Key:two\n\nBare', name: '' }
  expect(bodyOf({ ...before, texts, topics: [] }, before)).toEqual({
    ...{ type: 'oauth2', topics: [], verify_cert: true, oauth2_scopes: ['a', 'c'], name: '' },
    headers: { 'X-Key': 'two', Bare: '' },
  })
  expect(bodyOf({ ...before, texts: { ...before.texts, secret: 'new' } }, before)).toMatchObject({ secret: 'new' })
})

test('a field that the type does not have is neither offered nor sent', () => {
  expect(fieldsOf('pull').map(({ name }) => name)).not.toContain('url')
  expect(fieldsOf('splunk').map(({ name }) => name)).toContain('splunk_token')
  const texts = { ...emptyValues.texts, url: 'https://example.com', splunk_token: 'token' }
  expect(bodyOf({ ...emptyValues, texts, type: 'pull' }, emptyValues)).toEqual({ type: 'pull', topics: [] })
})

test('a webhook whose receiver fetches its messages from now on loses what only concerns sending', () => {
  const before = valuesOf(webhook)
  expect(bodyOf({ ...before, type: 'pull' }, before)).toEqual({
    ...{ type: 'pull', topics: ['audits'] },
    ...{ '-url': '', '-headers': '', '-order': '', '-rate_limit': '', '-client_cert': '', '-client_key': '' },
  })
})

test('a filter that is emptied is taken away', () => {
  const before = valuesOf({ ...webhook, filter: '$.events[0]' })
  const texts = { ...before.texts, filter: '' }
  expect(bodyOf({ ...before, texts }, before)).toEqual({ type: 'oauth2', topics: ['audits'], filter: null })
})

test('an order and a rate limit are shown, changed and taken away', () => {
  const ordered = { ...webhook, order: 'device', rate_limit: { messages: 10, per: 'second' }, ed25519_signatures: true }
  const before = valuesOf(ordered)
  expect(before.texts).toMatchObject({ order: 'device', rate_limit: '10 per second', ed25519_signatures: 'true' })
  const sent = (texts: Record<string, string>) => bodyOf({ ...before, texts: { ...before.texts, ...texts } }, before)
  expect(sent({ order: 'webhook', rate_limit: ' 100  per minute ' })).toMatchObject({
    order: 'webhook',
    rate_limit: { messages: 100, per: 'minute' },
  })
  expect(sent({ order: '', rate_limit: ' ', ed25519_signatures: '' })).toMatchObject({
    ...{ order: null, rate_limit: null, ed25519_signatures: false },
  })
  expect(sent({ rate_limit: 'ten' })).toMatchObject({ rate_limit: 'ten' })
})
