import { expect, it } from 'vitest'
import { describeError } from './describe-error.ts'

const certificate = (code: string) => Object.assign(new Error('text of Node.js'), { code })
const tls = (reason: string) => Object.assign(new Error('error:0A:SSL'), { library: 'SSL routines', reason })
const timedOut = (attempted: string) => new Error(`Connect Timeout Error (attempted ${attempted}, timeout: 10000ms)`)

it.each([
  ['connect ECONNREFUSED 192.0.2.1:80', new Error('connect ECONNREFUSED 192.0.2.1:80')],
  ['connect ENETUNREACH 192.0.2.1:80', new Error('connect ENETUNREACH 192.0.2.1:80 - Local (10.0.0.7:40112)')],
  ['connect ENETUNREACH 2001:db8::1:443', new Error('connect ENETUNREACH 2001:db8::1:443 - Local (:::0)')],
  ['a; b', new AggregateError([new Error('a'), new Error('b - Local (0.0.0.0:0)')])],
  ['TLS failed: the receiver does not speak it', tls('wrong version number')],
  ['TLS failed: ee key too small', tls('ee key too small')],
  ['TLS failed: the certificate has expired', certificate('CERT_HAS_EXPIRED')],
  ['TLS failed: the certificate is self-signed', certificate('DEPTH_ZERO_SELF_SIGNED_CERT')],
  ['TLS failed: the authority that issued the certificate is not trusted', certificate('SELF_SIGNED_CERT_IN_CHAIN')],
  [
    'TLS failed: the certificate is for other names than that of the receiver',
    certificate('ERR_TLS_CERT_ALTNAME_INVALID'),
  ],
  ['no connection to 192.0.2.1:80, 192.0.2.2:80 within 10000 ms', timedOut('addresses: 192.0.2.1:80, 192.0.2.2:80')],
  ['no connection to 192.0.2.1:443 within 10000 ms', timedOut('address: 192.0.2.1:443')],
  ['the receiver closed the connection before it had read the whole request', new Error('write EPIPE')],
  ['TypeError', new TypeError('')],
  ['text', 'text'],
])('%s is the text for people', (text, error) => {
  expect(describeError(error)).toBe(text)
})
