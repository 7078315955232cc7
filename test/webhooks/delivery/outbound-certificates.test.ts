import { createServer as createHttpServer } from 'node:http'
import { createSecureServer } from 'node:http2'
import { createServer as createTlsServer } from 'node:https'
import { createServer } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { selfSigned } from '../self-signed.ts'
import { listen } from './listen.ts'
import { outboundWith, post } from './outbound.ts'

describe('certificates', () => {
  async function tlsReceiver(certificate: { readonly key: string; readonly cert: string }): Promise<string> {
    const server = createTlsServer(certificate, (_request, response) => response.end('hello'))
    return `https://127.0.0.1:${await listen(server)}/`
  }

  it.each([
    [
      'has expired',
      () => selfSigned('127.0.0.1', { notAfter: new Date(Date.now() - 3600e3) }),
      /^TLS failed: the certificate has expired$/,
    ],
    [
      'is for another host',
      () => selfSigned('127.0.0.2'),
      /^TLS failed: the certificate is for other names than that of the receiver$/,
    ],
    ['is valid', () => selfSigned('127.0.0.1'), null],
  ] as const)('of a trusted authority: one that %s', async (_what, create, error) => {
    const certificate = await create()
    const trusted = getCACertificates('default')
    setDefaultCACertificates([...trusted, certificate.cert])
    try {
      const answer = await post(outboundWith(), await tlsReceiver(certificate))
      if (error === null) expect(answer).toMatchObject({ kind: 'answer', status: 200 })
      else expect(answer).toMatchObject({ kind: 'failed', error: expect.stringMatching(error) })
    } finally {
      setDefaultCACertificates(trusted)
    }
  })

  it('say that a receiver does not speak TLS, and why it refuses the connection', async () => {
    const plain = createHttpServer()
    const url = `https://127.0.0.1:${await listen(plain)}/`
    const error = 'TLS failed: the receiver does not speak it'
    expect(await post(outboundWith(), url)).toMatchObject({ kind: 'failed', error })
    const certificate = await selfSigned('127.0.0.1')
    const old = createTlsServer({ ...certificate, minVersion: 'TLSv1', maxVersion: 'TLSv1.1' }, () => {})
    const http2 = createSecureServer({ ...certificate, allowHTTP1: false })
    const rude = createServer((socket) => socket.once('data', () => socket.end()))
    for (const [server, reason] of [
      [old, 'the receiver does not speak TLS 1.2 or 1.3'],
      [http2, 'the receiver does not speak HTTP/1.1'],
      [rude, 'the receiver closed the connection'],
    ] as const) {
      const result = await post(outboundWith(), `https://127.0.0.1:${await listen(server)}/`)
      expect(result).toMatchObject({ kind: 'failed', error: `TLS failed: ${reason}` })
    }
    const mutual = createTlsServer({ ...certificate, requestCert: true, ca: certificate.cert }, () => {})
    const send = (verifyCert: boolean, to: string) => outboundWith().send({ ...asked, url: to, verifyCert })
    const asked = { method: 'POST' as const, headers: {}, body: Buffer.from('{}'), timeoutMs: 5000 }
    expect(await send(false, `https://127.0.0.1:${await listen(mutual)}/`)).toMatchObject({
      kind: 'failed',
      error: 'TLS failed: the receiver requires a client certificate',
    })
    expect(await send(true, await tlsReceiver(certificate))).toMatchObject({
      kind: 'failed',
      error: 'TLS failed: the certificate is self-signed',
    })
  })

  it('are verified unless the webhook disables this', async () => {
    const url = await tlsReceiver(await selfSigned('127.0.0.1'))
    const outbound = outboundWith()
    const body = Buffer.from('{}')
    const send = (verifyCert: boolean) =>
      outbound.send({ url, method: 'POST', headers: {}, body, verifyCert, timeoutMs: 5000 })
    // The request without verification is the first: its connection must not serve the one with verification.
    expect(await send(false)).toMatchObject({ kind: 'answer', status: 200 })
    expect(await send(true)).toMatchObject({ kind: 'failed', error: expect.stringMatching(/self.signed/) })
    expect(await send(false)).toMatchObject({ kind: 'answer', status: 200 })
  })
})
