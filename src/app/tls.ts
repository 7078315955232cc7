import { X509Certificate } from 'node:crypto'
import { openGatewayTls } from '../gateway/gateway-tls.ts'
import { systemClock } from '../platform/clock.ts'
import type { Config } from './config.ts'
import { isWildcard } from './wildcard.ts'

type KeyAndCert = { readonly cert: string; readonly key: string }

export interface TlsMaterial {
  /** Of the HTTP server; null = plain HTTP. */
  readonly http: KeyAndCert | null
  readonly gateway: KeyAndCert & { readonly ca: string }
  /**
   * Devices verify the HTTPS server, from which they download firmware, by the CA of the gateway. False
   * behind a proxy of another certificate, too: its CA is not known here, so it should be a public one.
   */
  readonly localCertificates: boolean
}

/**
 * Certificates for both listeners. What is self-made is signed by the installation's own CA
 * (`device-ca/ca.pem` in the data folder), so clients and devices trust one file.
 */
export async function openTls(config: Config, dataDir: string): Promise<TlsMaterial> {
  const name = gatewayNameOf(config)
  const others = ['localhost', '127.0.0.1', '::1', config.host, ...hostOf(config.baseUrl)]
  const hosts = [name, ...new Set(others.filter((host) => host !== name))] as const
  const needsOwn = config.ucentralTls === null || config.tls === 'self-signed'
  const issued = needsOwn ? await openGatewayTls({ dataDir, hosts, now: systemClock.now() }) : null
  const http = config.tls === 'off' ? null : config.tls === 'self-signed' ? need(issued) : config.tls
  const gateway = config.ucentralTls ?? need(issued)
  return { http, gateway, localCertificates: http !== null && isIssuedBy(http.cert, gateway.ca) }
}

/** Whether the first certificate of the chain leads, by the others of the chain, to one of the CAs. */
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

function certificatesIn(pem: string): X509Certificate[] {
  const texts = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return texts.map((text) => new X509Certificate(text))
}

/** Where devices are told to find the gateway. */
function gatewayNameOf({ ucentralHost, baseUrl, host }: Config): string {
  return ucentralHost ?? hostOf(baseUrl)[0] ?? (isWildcard(host) ? 'localhost' : host)
}

function hostOf(baseUrl: string | null): string[] {
  return baseUrl === null ? [] : [new URL(baseUrl).hostname.replace(/^\[|\]$/g, '')]
}

function need<T>(value: T | null): T {
  if (value === null) throw new Error('unreachable: the CA is opened whenever something is to be issued')
  return value
}
