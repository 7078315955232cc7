import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AppError } from '../platform/errors.ts'
import type { Document } from '../platform/json/document.ts'
import { type Webhook, auditDocument, mergeWebhook } from './webhook.ts'

const url = 'https://receiver.test/hook'
const now = new Date('2026-11-20T12:00:00Z')

function webhook(body: Document, more: Partial<Webhook> = {}): Webhook {
  const { urls: _, ...content } = mergeWebhook(null, { url, ...body }, null)
  const row = { orgId: 'o', id: 'w', siteId: null, createdAt: now, modifiedAt: now }
  return { ...content, ...row, retired: [], signingKeys: [], ...more }
}

describe('mergeWebhook', () => {
  it('divides the fields of a client into columns, document and secrets, and adds no others', () => {
    const { urls, ...content } = mergeWebhook(null, { url, name: 'A', secret: 's', own: [1] }, null)
    expect(urls).toEqual({ url: new URL(url) })
    expect(content).toEqual({ enabled: true, topics: [], doc: { url, name: 'A', own: [1] }, secrets: { secret: 's' } })
  })

  it('ignores fields of the service from a client', () => {
    const ours = { id: 'x', org_id: 'x', site_id: 'x', for_site: true, created_time: 1, modified_time: 1 }
    expect(mergeWebhook(null, { url, ...ours }, null).doc).toEqual({ url })
  })

  it('keeps fields that an update omits, and unsets secrets like other fields', () => {
    const before = webhook({ secret: 's', splunk_token: 't', enabled: false, topics: ['audits'], name: 'A' })
    const after = mergeWebhook(before, { '-secret': '', name: 'B' }, null)
    expect(after).toMatchObject({
      enabled: false,
      topics: ['audits'],
      doc: { url, name: 'B' },
      secrets: { splunk_token: 't' },
    })
    expect(mergeWebhook(before, { '-secret': '', '-splunk_token': '' }, null).secrets).toBeNull()
    expect(mergeWebhook(before, { '-enabled': '', '-topics': '' }, null)).toMatchObject({ enabled: true, topics: [] })
  })

  it('changes nothing when it gets its own result back', () => {
    const unknown = fc.dictionary(
      fc.string().map((key) => `x_${key}`),
      fc.jsonValue(),
    )
    fc.assert(
      fc.property(unknown, fc.boolean(), fc.option(fc.string()), (doc, enabled, secret) => {
        const before = webhook({ ...doc, enabled, secret, topics: ['audits'] })
        const echo = { ...before.doc, ...before.secrets, enabled: before.enabled, topics: before.topics }
        const { urls: _, ...after } = mergeWebhook(before, echo, null)
        const { enabled: same, topics, doc: kept, secrets } = before
        expect(after).toEqual({ enabled: same, topics, doc: kept, secrets })
      }),
    )
  })

  it('accepts a token only if it can be sent', () => {
    const splunk = (token: unknown) => () => mergeWebhook(null, { url, type: 'splunk', splunk_token: token }, null)
    expect(splunk('B5A79AAD-D822-46CC-80D1-819F80D7BFB0')).not.toThrow()
    for (const token of [undefined, '', 'a\r\nHost: x', 'not€latin', 'x'.repeat(1000)])
      expect(splunk(token)).toThrow('Invalid field splunk_token: ')
  })

  it('accepts any text as an address or refuses it with the name of the field', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.webUrl(),
          fc.webUrl().map((text) => text.replace('://', '://u:p@')),
        ),
        (text) => {
          try {
            const { urls } = mergeWebhook(null, { url: text }, null)
            expect(urls['url']?.protocol).toMatch(/^https?:$/)
            expect(`${urls['url']?.username}${urls['url']?.password}`).toBe('')
          } catch (error) {
            expect(error).toBeInstanceOf(AppError)
            expect(error).toMatchObject({ code: 'invalid', message: expect.stringContaining('Invalid field url: ') })
          }
        },
      ),
    )
  })
})

describe('secrets', () => {
  it.each(['whsec_', 'whsec_not base64!', 'whsec_abc'])(
    'as %j are refused if they are new, and stay if not',
    (secret) => {
      const refusal = 'Invalid field secret: must have padded base64 after whsec_'
      expect(() => mergeWebhook(null, { url, secret }, null)).toThrow(refusal)
      expect(() => mergeWebhook(webhook({ secret: 'before' }), { secret }, null)).toThrow(refusal)
      const stored = { ...webhook({}), secrets: { secret } }
      expect(mergeWebhook(stored, { secret, name: 'A' }, null).secrets).toEqual({ secret })
      expect(mergeWebhook(stored, { name: 'A' }, null).secrets).toEqual({ secret })
    },
  )

  it.each(['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_aGk=', 'a long text', '', null])(
    'as %j are accepted',
    (secret) => {
      expect(mergeWebhook(null, { url, secret }, null).secrets).toEqual({ secret })
    },
  )

  it('are omitted from the audit log, like headers', () => {
    const shown = auditDocument('w', webhook({ secret: 'hidden', headers: { Authorization: 'hidden' }, name: 'A' }))
    expect(shown).toEqual({ url, name: 'A', secret: '***', enabled: true, topics: [], webhook_id: 'w' })
  })

  it.each([null, ''])('that are %j are shown as such in the audit log, because they are not set', (secret) => {
    expect(auditDocument('w', webhook({ secret }))).toMatchObject({ secret })
  })
})
