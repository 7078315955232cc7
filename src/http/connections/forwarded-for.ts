import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { Logger } from '../../platform/log.ts'

/** An address with a port, as some proxies write it; IPv6 is then in brackets. */
const WithPort = /^(?:(\d+(?:\.\d+){3})|\[([\da-f:.]+)\])(?::\d{1,5})?$/i

/** The number of peers to remember after a warning; a few suffice to find the proxy that is not trusted yet. */
const MAX_WARNINGS = 16

/**
 * Returns the part of an X-Forwarded-For that can identify the client: the addresses from the nearest one, which is
 * last, to the first text that is not an address. Ports are left out.
 */
export function cleanForwardedFor(header: string): string {
  const addresses: string[] = []
  for (const text of header.split(',').toReversed()) {
    const [, ipv4, ipv6] = WithPort.exec(text.trim()) ?? []
    const address = ipv4 ?? ipv6 ?? text.trim()
    // A zone is of the proxy's own machine.
    if (isIP(address) === 0 || address.includes('%')) break
    addresses.unshift(address)
  }
  return addresses.join(', ')
}

/** Cleans the header of each request, and warns once about each untrusted peer that sends one. */
export function createForwardedForCheck(log: Logger): (request: Pick<FastifyRequest, 'ips' | 'raw'>) => void {
  const warned = new Set<string | undefined>()
  return (request) => {
    const { headers, socket } = request.raw
    const given = headers['x-forwarded-for']
    if (given === undefined) return
    const cleaned = cleanForwardedFor(String(given))
    if (cleaned === '') delete headers['x-forwarded-for']
    else headers['x-forwarded-for'] = cleaned
    const peer = socket.remoteAddress
    const isTrusted = (request.ips?.length ?? 1) > 1
    if (cleaned === '' || isTrusted || warned.has(peer) || warned.size >= MAX_WARNINGS) return
    warned.add(peer)
    log.warn({ peer }, 'X-Forwarded-For is ignored: SIGNALBOX_TRUSTED_PROXIES does not contain its sender')
  }
}
