import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { headerFault, replaceHeaders } from './headers.ts'

describe('headerFault', () => {
  it.each([
    {},
    { 'X-Key': 'a b\tc' },
    { Authorization: 'Bearer x' },
    { 'x_y.z!': '' },
    { 'User-Agent': 'mine' },
    { 'content-type': 'text/json' },
  ])('accepts %j', (headers) => {
    expect(headerFault(headers)).toBeNull()
  })

  it.each([
    'Host',
    'Content-Length',
    'Content-Encoding',
    'Connection',
    'Transfer-Encoding',
    'TE',
    'Upgrade',
    'Expect',
    'Proxy-Authorization',
    'Accept-Encoding',
    'webhook-id',
    'Webhook-Signature',
    'X-Mist-Signature',
    'x-mist-signature-v2',
    '',
    'a b',
    'a:b',
    'ü',
    '__proto__ ',
  ])('refuses the name %j', (name) => {
    expect(headerFault({ [name]: 'x' })).not.toBeNull()
  })

  it.each(['a\r\nX-Evil: 1', 'a\n', '\0', '\x7f', 'Ā'])('refuses the value %j', (text) => {
    expect(headerFault({ 'X-A': text })).not.toBeNull()
  })

  it('refuses two spellings of one name', () => {
    expect(headerFault({ 'X-Key': 'a', 'x-key': 'b' })).toBe('X-Key and x-key are the same header')
  })

  it('refuses more than a thousand bytes in total', () => {
    expect(headerFault({ 'X-A': 'a'.repeat(497), 'X-B': 'a'.repeat(497) })).toBeNull()
    expect(headerFault({ 'X-A': 'a'.repeat(497), 'X-B': 'a'.repeat(498) })).toMatch(/1000/)
  })

  it('accepts nothing that could end a line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (name, text) => {
        if (headerFault({ [name]: text }) === null) expect(`${name}${text}`).not.toMatch(/[\r\n\0]/)
      }),
    )
  })
})

describe('replaceHeaders', () => {
  it('replaces headers whatever their spelling, and keeps the others', () => {
    expect(replaceHeaders({ 'User-Agent': 'a', 'X-A': '1' }, { 'user-agent': 'b', 'X-B': '2' })).toEqual({
      'X-A': '1',
      'user-agent': 'b',
      'X-B': '2',
    })
  })
})
