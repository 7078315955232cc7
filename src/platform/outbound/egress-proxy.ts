import { type RequestOptions, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { Socket, isIPv6 } from 'node:net'
import { type TimeLimit, withinTime } from '../time/within-time.ts'

/** An HTTP proxy of the operator, for calls to addresses that users choose. */
export interface EgressProxy {
  /** `http:` or `https:`, without credentials. */
  readonly url: URL
  /** The header that the proxy requires; null if it requires none. */
  readonly authorization: string | null
}

/** @param url May contain a name and a password, percent-encoded. */
export function egressProxyOf(url: string): EgressProxy {
  const { username, password, origin } = new URL(url)
  const login = `${decode(username)}:${decode(password)}`
  return {
    url: new URL(origin),
    authorization: login === ':' ? null : `Basic ${Buffer.from(login).toString('base64')}`,
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // An unencoded percent sign is literal.
    return text
  }
}

interface Tunnel {
  /** Literal addresses of the same host, tried in this order: the proxy resolves no name. */
  readonly addresses: readonly string[]
  readonly port: number
  /** For all addresses together. */
  readonly timeLimit: TimeLimit
}

/** The owner of a name chooses how many addresses it has, and each costs a connection to the proxy. */
const MAX_ADDRESSES = 8

/**
 * Opens a connection through the proxy by CONNECT. A silent address leaves time for those after it.
 * @throws Error with the proxy's answer for the last address.
 */
export async function openTunnel(proxy: EgressProxy, { addresses, port, timeLimit }: Tunnel): Promise<Socket> {
  const { deadlines } = timeLimit
  const endMs = deadlines.nowMs() + timeLimit.ms
  const tried = addresses.slice(0, MAX_ADDRESSES)
  let last: unknown = new Error('the name has no address')
  for (const [index, address] of tried.entries()) {
    const target = `${isIPv6(address) ? `[${address}]` : address}:${port}`
    const ms = Math.max(endMs - deadlines.nowMs(), 0) / (tried.length - index)
    try {
      return await withinTime({ ...timeLimit, ms }, (signal) => requestTunnel(proxy, target, signal))
    } catch (error) {
      last = error
    }
  }
  throw last
}

/** @param target As in `CONNECT`: an address and a port. */
function requestTunnel({ url, authorization }: EgressProxy, target: string, signal: AbortSignal): Promise<Socket> {
  const options: RequestOptions = {
    method: 'CONNECT',
    path: target,
    agent: false,
    signal,
    headers: { host: target, ...(authorization !== null && { 'proxy-authorization': authorization }) },
  }
  const request = url.protocol === 'https:' ? requestHttps(url, options) : requestHttp(url, options)
  return new Promise((resolve, reject) => {
    request.once('error', (error) =>
      reject(new Error(`the proxy could not be used: ${signal.aborted ? 'no answer in time' : codeOf(error)}`)),
    )
    request.once('connect', ({ statusCode = 0 }, socket, head) => {
      if (statusCode >= 200 && statusCode <= 299 && head.length === 0 && socket instanceof Socket) {
        resolve(socket)
        return
      }
      socket.destroy()
      reject(new Error(`the proxy answered ${statusCode}`))
    })
    request.end()
  })
}

/** Users see the error, and messages contain the address of the proxy. */
function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
