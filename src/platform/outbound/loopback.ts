import { isIPv4 } from 'node:net'

/**
 * True if only this machine can reach a server that listens on `host`. A name such as 127.example.com is not an
 * address.
 */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

/** True if the address can only mean this machine. URL leaves the brackets around an IPv6 address. */
export function isLoopbackUrl(url: URL): boolean {
  return isLoopback(url.hostname.replace(/^\[|\]$/g, ''))
}

/**
 * True if a server that listens on `host` serves its own machine only. A public base address means that a proxy on this
 * machine admits others.
 * @param baseUrl Null: only the address it listens on.
 */
export function servesLoopbackOnly(host: string, baseUrl: string | null): boolean {
  return isLoopback(host) && (baseUrl === null || isLoopbackUrl(new URL(baseUrl)))
}
