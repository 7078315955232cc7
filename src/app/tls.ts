import { X509Certificate } from 'node:crypto'
import type { GatewayTls } from '../gateway/certificates/device-ca.ts'
import { openGatewayTls } from '../gateway/certificates/gateway-tls.ts'
import { systemClock } from '../platform/time/clock.ts'
import type { Config } from './config/config.ts'
import { isWildcard } from './wildcard.ts'

type KeyAndCert = { readonly cert: string; readonly key: string }

export interface TlsMaterial {
  /** For the HTTP server; null = plain HTTP. */
  readonly http: KeyAndCert | null
  readonly gateway: GatewayTls
  /** For agents of edge appliances, whose certificates only the built-in CA signs. */
  readonly edge: GatewayTls
  /** The name or address at which devices and agents find the gateway. */
  readonly gatewayHost: string
  /**
   * True if the gateway's CA signed the HTTPS server's certificate, so that devices, which download firmware there,
   * verify it by that CA. False behind a proxy with another certificate: its CA is unknown here, so it should be a
   * public one.
   */
  readonly localCertificates: boolean
  /** PEM of the CA that signed the HTTPS server's certificate; null if no CA of this service did. */
  readonly httpCa: string | null
}

/**
 * Loads certificates for both listeners. Self-signed ones come from the installation's own CA (`device-ca/ca.pem` in
 * the data folder), so that clients and devices trust one file.
 */
export async function openTls(config: Config, dataDir: string): Promise<TlsMaterial> {
  const name = gatewayNameOf(config)
  const others = ['localhost', '127.0.0.1', '::1', config.host, ...hostOf(config.baseUrl), ...config.tlsNames]
  const hosts = [name, ...new Set(others.filter((host) => host !== name))] as const
  const edge = await openGatewayTls({ dataDir, hosts, now: systemClock.now() })
  const http = config.tls === 'off' ? null : config.tls === 'self-signed' ? edge : config.tls
  const gateway = config.ucentralTls ?? edge
  return {
    http,
    gateway,
    edge,
    gatewayHost: name,
    localCertificates: http !== null && isIssuedBy(http.cert, gateway.ca),
    httpCa: (http !== null && [edge.ca, gateway.ca].find((ca) => isIssuedBy(http.cert, ca))) || null,
  }
}

/** True if the chain's first certificate leads, by the others of the chain, to one of the CAs. */
function isIssuedBy(chainPem: string, caPem: string): boolean {
  const [leaf, ...rest] = certificatesIn(chainPem)
  const authorities = certificatesIn(caPem)
  const isOf = (certificate: X509Certificate) => (issuer: X509Certificate) =>
    certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
  let current = leaf
  for (let depth = 0; current !== undefined && depth <= rest.length; depth += 1) {
    if (authorities.some(isOf(current))) return true
    current = rest.find(isOf(current))
  }
  return false
}

/** Returns every certificate of a PEM text, in its order. */
export function certificatesIn(pem: string): X509Certificate[] {
  const texts = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return texts.map((text) => new X509Certificate(text))
}

/** Returns the address at which devices find the gateway. */
export function gatewayNameOf({
  ucentralHost,
  baseUrl,
  host,
}: Pick<Config, 'ucentralHost' | 'baseUrl' | 'host'>): string {
  return ucentralHost ?? hostOf(baseUrl)[0] ?? (isWildcard(host) ? 'localhost' : host)
}

function hostOf(baseUrl: string | null): string[] {
  return baseUrl === null ? [] : [new URL(baseUrl).hostname.replace(/^\[|\]$/g, '')]
}
