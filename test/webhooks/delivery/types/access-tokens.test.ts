import { beforeEach, describe, expect, it } from 'vitest'
import { Cutter } from '../../../../src/platform/outbound/cutter.ts'
import { createDeadlines } from '../../../../src/platform/time/deadlines.ts'
import { type AccessTokens, createAccessTokens } from '../../../../src/webhooks/requests/access-tokens.ts'
import { type TestClock, createTestClock } from '../../../support/test-clock.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { outboundWith } from '../outbound.ts'
import { type TokenServer, startTokenServer } from './token-server.ts'

let clock: TestClock
let server: TokenServer
let tokens: AccessTokens
beforeEach(async () => {
  clock = createTestClock()
  server = await startTokenServer()
  tokens = createAccessTokens({ clock, deadlines: createDeadlines(), outbound: outboundWith() })
})

const request = (signal = new Cutter(), id = 'client') => ({
  orgId: 'org',
  webhookId: 'webhook',
  grant: {
    url: new URL(server.url),
    client: { id, secret: 'secret' },
    form: { grant_type: 'client_credentials' },
    assertion: null,
  },
  verifyCert: true,
  timeoutMs: 20_000,
  signal,
})
/** An RSA key of 256 bits, which OpenSSL no longer creates. */
const TINY_KEY = `-----BEGIN PRIVATE KEY-----
MIHDAgEAMA0GCSqGSIb3DQEBAQUABIGuMIGrAgEAAiEAsjLEiOe9Ib6rUDFMugZJ
zQxv7+AUJStl7t68og3NbicCAwEAAQIgZqb6MoeUmzDUTTDpKyxeLEuzS8MJk/Ti
b9yegg0sIJkCEQDb/iUeUFcmXV3O9LUsyYVjAhEAz11nyz4GKZtove7J+tDBbQIR
AMu+HHJuxcfqQK8jQ4gvOzECECvCZFLphddl6laae5koUIkCEQCFyM6k9zrMF8ts
FV980iyo
-----END PRIVATE KEY-----
`

const isNew = (token: string) => ({ kind: 'token', token, isNew: true })
const isOld = (token: string) => ({ kind: 'token', token, isNew: false })
const aborted = { kind: 'aborted' }
const nothingWaits = () => waitUntil('the end of the requests', () => server.waiting() === 0)

describe('access tokens', () => {
  it('are requested once for messages that start together, and are new to all of them', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => tokens.get(request())))
    expect(all).toEqual(all.map(() => isNew('token-1')))
    expect(await tokens.get(request())).toEqual(isOld('token-1'))
    expect(server.requests).toHaveLength(1)
  })

  it('are requested once more for all messages whose token the receiver has refused', async () => {
    await tokens.get(request())
    const refused = async () => {
      tokens.forget('webhook', 'token-1')
      return tokens.get(request())
    }
    expect(await Promise.all([refused(), refused(), refused()])).toEqual(Array(3).fill(isNew('token-2')))
    // The refusal of the former token may arrive late.
    expect(await refused()).toEqual(isOld('token-2'))
    expect(server.requests).toHaveLength(2)
  })

  it('fail for all messages that wait for one request, and are requested again by the next', async () => {
    const works = server.answer
    server.answer = [400, '{"error": "invalid_scope"}']
    const error = `no access token from ${server.url}: answered 400: invalid_scope`
    const failed = { kind: 'failed', error, remoteAddress: null }
    expect(await Promise.all([tokens.get(request()), tokens.get(request())])).toEqual([failed, failed])
    expect(server.requests).toHaveLength(1)
    server.answer = works
    expect(await tokens.get(request())).toEqual(isNew('token-2'))
  })

  it('are requested anew once the certificate of their server is checked', async () => {
    await tokens.get({ ...request(), verifyCert: false })
    expect(await tokens.get(request())).toEqual(isNew('token-2'))
    expect(await tokens.get(request())).toEqual(isOld('token-2'))
  })

  it('are of the credentials with which they are requested', async () => {
    server.isHolding = true
    const both = [tokens.get(request(new Cutter(), 'former')), tokens.get(request(new Cutter(), 'present'))]
    await server.waitFor(2)
    server.release()
    const texts = (await Promise.all(both)).map((result) => result.kind === 'token' && result.token)
    const idOf = (text: string | false | undefined) =>
      server.requests[Number(String(text).replace('token-', '')) - 1]?.authorization
    const basic = (id: string) => `Basic ${Buffer.from(`${id}:secret`).toString('base64')}`
    expect(texts.map(idOf)).toEqual([basic('former'), basic('present')])
    expect(await tokens.get(request(new Cutter(), 'present'))).toEqual(isOld(String(texts[1])))
  })
})

it('fails if the key of a service account cannot sign', async () => {
  const assertion = { issuer: 'me', keyPem: TINY_KEY, keyId: null, scope: 'all' }
  const { grant, ...others } = request()
  const error = `no access token from ${server.url}: the private key of the service account cannot sign`
  const failed = { kind: 'failed', error, remoteAddress: null }
  expect(await tokens.get({ ...others, grant: { ...grant, assertion } })).toEqual(failed)
  expect(server.requests).toEqual([])
})

describe('a message that is cut while it waits for an access token', () => {
  it('ends at once, and the others get the token', async () => {
    server.isHolding = true
    const [first, second] = [new Cutter(), new Cutter()]
    const results = [tokens.get(request(first)), tokens.get(request(second)), tokens.get(request())] as const
    await server.waitFor(1)
    first.abort()
    expect(await results[0]).toEqual(aborted)
    second.abort()
    expect(await results[1]).toEqual(aborted)
    expect(server.waiting()).toBe(1)
    server.release()
    expect(await results[2]).toEqual(isNew('token-1'))
    expect(server.requests).toHaveLength(1)
  })

  it('ends the request as the last one, and the next message makes another', async () => {
    server.isHolding = true
    const cutters = [new Cutter(), new Cutter()]
    const results = cutters.map((signal) => tokens.get(request(signal)))
    await server.waitFor(1)
    for (const cutter of cutters) cutter.abort()
    const next = tokens.get(request())
    expect(await Promise.all(results)).toEqual([aborted, aborted])
    await server.waitFor(2)
    await waitUntil('the end of the first request', () => server.waiting() === 1)
    server.release()
    expect(await next).toEqual(isNew('token-2'))
  })

  it('ends in its own time, although an earlier one may wait for longer', async () => {
    server.isHolding = true
    const first = tokens.get(request())
    const error = `no access token from ${server.url}: no answer within 40 ms`
    expect(await tokens.get({ ...request(), timeoutMs: 40 })).toEqual({ kind: 'failed', error, remoteAddress: null })
    server.release()
    expect(await first).toEqual(isNew('token-1'))
    expect(server.requests).toHaveLength(1)
  })

  it('requests none if it was cut before', async () => {
    const cutter = new Cutter()
    cutter.abort()
    expect(await tokens.get(request(cutter))).toEqual(aborted)
    expect(await tokens.get(request())).toEqual(isNew('token-1'))
    await nothingWaits()
    expect(server.requests).toHaveLength(1)
  })
})
