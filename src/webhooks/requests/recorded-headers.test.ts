import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createReducer, maskHeaders, reduceHeaders, restoreHeaders } from './recorded-headers.ts'

const recorded = { messageId: '018f0000-0000-7000-8000-000000000001', createdAt: new Date('2026-03-01T12:00:00.999Z') }
const usual = {
  'User-Agent': 'Signalbox-Webhooks/1',
  'Content-Type': 'application/json',
  'Accept-Encoding': 'identity',
  'webhook-id': recorded.messageId,
  'webhook-timestamp': '1772366400',
}

const signed = {
  'webhook-signature': `v1,${Buffer.alloc(32, 1).toString('base64')}`,
  'X-Mist-Signature-v2': 'ab'.repeat(32),
  'X-Mist-Signature': '09'.repeat(20),
}

it('omits the usual headers only', () => {
  const own = { 'Content-Type': 'application/cloudevents+json', 'X-Mist-Signature': 'abc' }
  expect(reduceHeaders({ ...usual, ...own }, recorded)).toEqual({ others: own, signatures: null })
})

it('encodes the signatures by a single secret', () => {
  const { others, signatures } = reduceHeaders({ ...usual, ...signed }, recorded)
  expect(others).toEqual({})
  expect(signatures).toHaveLength(84)
})

it('does not change signatures of any other form', () => {
  const second = `${signed['webhook-signature']} v1,${Buffer.alloc(32, 2).toString('base64')}`
  const upper = { ...signed, 'X-Mist-Signature-v2': 'AB'.repeat(32) }
  for (const others of [{ ...signed, 'webhook-signature': second }, upper])
    expect(reduceHeaders({ ...usual, ...others }, recorded)).toEqual({ others, signatures: null })
})

it('restores any headers', () => {
  const names = fc.constantFrom(...Object.keys(usual), 'content-type', ...Object.keys(signed), 'Authorization')
  const values = fc.constantFrom(...Object.values(usual), ...Object.values(signed), '***', '')
  fc.assert(
    fc.property(fc.boolean(), fc.dictionary(names, values), (isSigned, some) => {
      const headers = { ...(isSigned && signed), ...some }
      expect(restoreHeaders(reduceHeaders(headers, recorded), recorded)).toEqual(headers)
    }),
  )
})

it('reduces headers that requests share as it reduces all of a request', () => {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, ...shared } = usual
  const own = fc.constantFrom<Record<string, string>>(
    { 'webhook-id': id, 'webhook-timestamp': timestamp },
    { 'webhook-id': id, 'webhook-timestamp': timestamp, ...signed },
    { 'webhook-id': id, 'webhook-timestamp': timestamp, ...signed, 'X-Mist-Signature-Former': 'a' },
    { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': 'v1a,AAAA' },
    { 'webhook-id': id, 'webhook-timestamp': '1', ...signed },
    { 'webhook-id': 'other', 'webhook-timestamp': timestamp },
    { 'webhook-timestamp': timestamp },
    {},
  )
  const common = fc.constantFrom<Record<string, string>>({}, shared, { ...shared, 'X-Key': '***' }, { 'X-Key': '***' })
  fc.assert(
    fc.property(common, fc.array(own, { maxLength: 3 }), (of, requests) => {
      const reduce = createReducer(of)
      for (const headers of requests) {
        const { others, signatures } = reduceHeaders({ ...of, ...headers }, recorded)
        expect(reduce(headers, recorded)).toEqual({ others: JSON.stringify(others), signatures })
      }
    }),
  )
})

it('hides the values of secret headers, however they are spelled', () => {
  expect(maskHeaders({ 'X-Key': 'a', 'X-Other': 'b' }, new Set(['x-key']))).toEqual({ 'X-Key': '***', 'X-Other': 'b' })
})
