import { createServer } from 'node:net'
import { type OutboundHttp, createOutboundHttp } from '../../src/platform/outbound/outbound-http.ts'

/** The requests in flight, where the engine counts them. */
export interface WatchedOutbound extends OutboundHttp {
  /** The maximum number of concurrent requests: of all organizations, of one, and to one address. */
  readonly most: { total: number; ofOrg: number; ofUrl: number }
  /** Returns the number of requests in flight to an address. */
  inFlight(url: string): number
}

/** HTTP that may call 127.0.0.1 and no other address of this machine. */
export function watchOutbound(): WatchedOutbound {
  const outbound = createOutboundHttp({ allowCidrs: ['127.0.0.1/32'], allowLoopback: false })
  const counts = new Map<string, number>()
  const most = { total: 0, ofOrg: 0, ofUrl: 0 }
  const change = (key: string, by: number): number => {
    const count = (counts.get(key) ?? 0) + by
    counts.set(key, count)
    return count
  }
  return {
    ...outbound,
    most,
    inFlight: (url) => counts.get(`url ${url}`) ?? 0,
    async send(request) {
      const keys = ['all', `owner ${request.owner}`, `url ${request.url}`] as const
      const [total, ofOrg, ofUrl] = keys.map((key) => change(key, 1))
      most.total = Math.max(most.total, total ?? 0)
      most.ofOrg = Math.max(most.ofOrg, ofOrg ?? 0)
      most.ofUrl = Math.max(most.ofUrl, ofUrl ?? 0)
      try {
        return await outbound.send(request)
      } finally {
        for (const key of keys) change(key, -1)
      }
    },
  }
}

export interface BlockedHost {
  readonly url: string
  /** The connections that were opened to it. */
  readonly dials: () => number
  close(): Promise<void>
}

/** Listens on an address of this machine that `watchOutbound` may not call. */
export async function startBlockedHost(): Promise<BlockedHost> {
  let dials = 0
  const server = createServer((socket) => {
    dials += 1
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.2', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('a server that listens on a port has an address')
  return {
    url: `http://127.0.0.2:${address.port}/`,
    dials: () => dials,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
