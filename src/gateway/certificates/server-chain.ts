import { X509Certificate } from 'node:crypto'
import type { GatewayTls } from './device-ca.ts'

const certificates = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/**
 * Returns the certificate with those that issued it, as far as the CA file has them. OpenSSL sends the same certificates if it
 * is given only the first, but looks for the others and verifies them at each handshake.
 */
export function serverChain({ cert, ca }: Pick<GatewayTls, 'cert' | 'ca'>): string {
  const [own, ...others] = cert.match(certificates) ?? []
  if (own === undefined || others.length > 0) return cert
  const known = (ca.match(certificates) ?? []).map((pem) => ({ pem, certificate: new X509Certificate(pem) }))
  const chain = [own]
  for (let last = new X509Certificate(own); !last.checkIssued(last);) {
    const issuer = known.find(({ pem, certificate }) => last.checkIssued(certificate) && !chain.includes(pem))
    if (issuer === undefined) break
    chain.push(issuer.pem)
    last = issuer.certificate
  }
  return `${chain.join('\n')}\n`
}
