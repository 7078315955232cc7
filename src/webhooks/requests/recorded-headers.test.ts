import fc from 'fast-check'
import { expect, it } from 'vitest'
import { reduceHeaders, restoreHeaders } from './recorded-headers.ts'

const recorded = { messageId: '018f0000-0000-7000-8000-000000000001', createdAt: new Date('2026-03-01T12:00:00.999Z') }
const usual = {
  'User-Agent': 'Signalbox-Webhooks/1',
  'Content-Type': 'application/json',
  'Accept-Encoding': 'identity',
  'webhook-id': recorded.messageId,
  'webhook-timestamp': '1772366400',
}

it('omits the usual headers only', () => {
  const own = { 'Content-Type': 'application/cloudevents+json', 'X-Mist-Signature': 'abc' }
  expect(reduceHeaders({ ...usual, ...own }, recorded)).toEqual(own)
})

it('restores any headers', () => {
  const names = fc.constantFrom(...Object.keys(usual), 'content-type', 'X-Mist-Signature', 'Authorization')
  const values = fc.constantFrom(...Object.values(usual), '***', '')
  fc.assert(
    fc.property(fc.dictionary(names, values), (headers) => {
      expect(restoreHeaders(reduceHeaders(headers, recorded), recorded)).toEqual(headers)
    }),
  )
})
