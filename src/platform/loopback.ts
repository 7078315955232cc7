import { isIPv4 } from 'node:net'

/** Whether only this machine can reach a server that listens on `host`. A name like 127.example.com is no address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

/** Whether only this machine can be meant. URL keeps the brackets of an IPv6 address. */
export function isLoopbackUrl(url: URL): boolean {
  return isLoopback(url.hostname.replace(/^\[|\]$/g, ''))
}

/**
 * Whether a server that listens on `host` serves its own machine only. A public base address says that
 * a proxy on this machine lets others in.
 *
 * @param baseUrl Null: none but the address it listens on.
 */
export function servesLoopbackOnly(host: string, baseUrl: string | null): boolean {
  return isLoopback(host) && (baseUrl === null || isLoopbackUrl(new URL(baseUrl)))
}
