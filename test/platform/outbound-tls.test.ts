import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect, it, onTestFinished } from 'vitest'
import { createOutboundHttp } from '../../src/platform/outbound/outbound-http.ts'
import { selfSigned } from '../webhooks/self-signed.ts'

const LENGTH = 4 * 1024 * 1024

/** Starts a server that answers with the last character of the path, many times. */
async function startServer(): Promise<string> {
  const certificate = await selfSigned('127.0.0.1')
  const trusted = getCACertificates('default')
  setDefaultCACertificates([...trusted, certificate.cert])
  const server = createServer(certificate, ({ url }, response) => response.end(url?.at(-1)?.repeat(LENGTH)))
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(async () => {
    setDefaultCACertificates(trusted)
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

it('reads answers that come at the same time over TLS, one of them after the others', async () => {
  const url = await startServer()
  const outbound = createOutboundHttp({ allowCidrs: [], allowLoopback: true })
  onTestFinished(() => outbound.close())
  const answers = await Promise.all(['a', 'b', 'c'].map((letter) => outbound.fetch(url + letter, {})))
  const [later, ...others] = answers
  // Its socket is paused meanwhile, and all of them read into one buffer.
  expect(await Promise.all(others.map((answer) => answer.text()))).toEqual(['b'.repeat(LENGTH), 'c'.repeat(LENGTH)])
  expect(await later?.text()).toBe('a'.repeat(LENGTH))
})
