import { expect, it } from 'vitest'
import { CommonHeaders, encodeRequest, targetOf } from './encode-request.ts'

const target = targetOf(new URL('https://user.test:8443/a%20b?c=d#e'))
const encode = (headers: Record<string, string>, body: Buffer | null, method: 'GET' | 'POST' = 'POST'): string =>
  Buffer.concat(encodeRequest({ target, method, headers, body })).toString('latin1')

it('encodes path, host, headers and body', () => {
  expect(encode({ 'X-A': 'b\xe9' }, Buffer.from('é'))).toBe(
    'POST /a%20b?c=d HTTP/1.1\r\nhost: user.test:8443\r\nconnection: keep-alive\r\nX-A: b\xe9\r\ncontent-length: 2\r\n\r\n\xc3\xa9',
  )
})

it('encodes headers that requests share before their own ones', () => {
  const common = new CommonHeaders({ 'X-A': 'b', 'X-B': 'c' })
  const [one, other] = ['1', '2'].map((id) =>
    Buffer.concat(encodeRequest({ target, method: 'GET', common, headers: { 'X-Id': id }, body: null })).toString(),
  )
  expect(one).toMatch(/keep-alive\r\nX-A: b\r\nX-B: c\r\nX-Id: 1\r\n\r\n$/)
  expect(other).toBe(one?.replace('X-Id: 1', 'X-Id: 2'))
})

it('announces that a POST has no body, and nothing for a GET', () => {
  expect(encode({}, null)).toMatch(/content-length: 0\r\n\r\n$/)
  expect(encode({}, null, 'GET')).toBe(
    'GET /a%20b?c=d HTTP/1.1\r\nhost: user.test:8443\r\nconnection: keep-alive\r\n\r\n',
  )
})

it('does not copy a large body', () => {
  const body = Buffer.alloc(100_000)
  expect(encodeRequest({ target, method: 'POST', headers: {}, body })[1]).toBe(body)
})

it.each([
  ['X-A', 'b\r\nX-B: c'],
  ['X-A', 'b\nc'],
  ['X-A', '\0'],
  ['X-A', 'ā'],
  ['X-A\r\nX-B', 'c'],
  ['', 'c'],
  ['Content-Length', '1'],
  ['transfer-encoding', 'chunked'],
  ['Host', 'other.test'],
])('refuses the header %j: %j', (name, value) => {
  expect(() => encode({ [name]: value }, null)).toThrow('invalid header')
  const common = new CommonHeaders({ [name]: value })
  expect(() => encodeRequest({ target, method: 'GET', common, headers: {}, body: null })).toThrow('invalid header')
})
