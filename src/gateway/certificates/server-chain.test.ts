import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { type DetailedPeerCertificate, connect, createServer } from 'node:tls'
import { beforeEach, expect, test } from 'vitest'
import { temporaryDir } from '../../../test/support/temporary-dir.ts'
import { openGatewayTls } from './gateway-tls.ts'
import { serverChain } from './server-chain.ts'

let dataDirs: string[] = []
beforeEach(async () => {
  dataDirs = [await temporaryDir(), await temporaryDir()]
})

const openAll = () =>
  Promise.all(dataDirs.map((dataDir) => openGatewayTls({ dataDir, hosts: ['localhost'], now: new Date() })))
const certificatesIn = (pem: string) => pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
const fingerprintOf = (pem: string) => new X509Certificate(pem).fingerprint256

/** Returns the fingerprints of the certificates that the server sends. */
async function sentBy(options: {
  readonly cert: string
  readonly key: string
  readonly ca: string
}): Promise<string[]> {
  const server = createServer(options).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const sent: string[] = []
  let certificate: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true)
  while (certificate !== undefined && !sent.includes(certificate.fingerprint256)) {
    sent.push(certificate.fingerprint256)
    certificate = certificate.issuerCertificate
  }
  socket.destroy()
  server.close()
  return sent
}

test('contains the CA, and the server sends the same certificates as without it', async () => {
  const [tls, other] = await openAll()
  if (tls === undefined || other === undefined) throw new Error('two were opened')
  for (const ca of [tls.ca, `${other.ca}\n${tls.ca}`]) {
    const chain = serverChain({ ...tls, ca })
    expect(certificatesIn(chain).map(fingerprintOf)).toEqual([tls.cert, tls.ca].map(fingerprintOf))
    expect(chain).not.toContain('PRIVATE KEY')
    expect(await sentBy({ ...tls, ca, cert: chain })).toEqual(await sentBy({ ...tls, ca }))
  }
})

test('leaves a certificate without a known issuer, and a chain that the operator has made', async () => {
  const [tls, other] = await openAll()
  if (tls === undefined || other === undefined) throw new Error('two were opened')
  expect(certificatesIn(serverChain({ ...tls, ca: other.ca })).map(fingerprintOf)).toEqual([fingerprintOf(tls.cert)])
  const made = `${tls.cert}\n${other.ca}\n`
  expect(serverChain({ ...tls, cert: made })).toBe(made)
  expect(certificatesIn(serverChain({ ca: tls.ca, cert: tls.ca }))).toHaveLength(1)
})
