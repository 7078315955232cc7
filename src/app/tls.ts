import { openGatewayTls } from '../gateway/gateway-tls.ts'
import { systemClock } from '../platform/clock.ts'
import type { Config } from './config.ts'
import { isWildcard } from './wildcard.ts'

type KeyAndCert = { readonly cert: string; readonly key: string }

export interface TlsMaterial {
  /** Of the HTTP server; null = plain HTTP. */
  readonly http: KeyAndCert | null
  readonly gateway: KeyAndCert & { readonly ca: string }
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
  return {
    http: config.tls === 'off' ? null : config.tls === 'self-signed' ? need(issued) : config.tls,
    gateway: config.ucentralTls ?? need(issued),
  }
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
