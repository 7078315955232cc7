import type { IncomingMessage, ServerResponse } from 'node:http'
import { accountOf } from '../access/request-limits.ts'
import type { Principal } from '../access/principal.ts'
import { tooManyRequests } from '../platform/errors.ts'
import { MAX_JSON_BYTES } from './body-limits.ts'

/** The default of `requestsPerAccount`: programs send a few dozen requests at a time. */
export const MAX_REQUESTS_PER_ACCOUNT = 100
/** Bodies of an account that are in memory at a time. Uploads are not: they are written as they arrive. */
const MAX_BODY_BYTES = 32 * 1024 * 1024

/** What the requests of one account hold at a time. */
interface Work {
  requests: number
  bodyBytes: number
}

/** Counts the request for the account of its caller until its answer has been sent, or its client has left. */
export type EnterWork = (principal: Principal, request: IncomingMessage, response: ServerResponse) => void

/**
 * Bounds what one account makes the service hold at a time, with all its sessions and tokens together.
 * @returns A function that throws AppError rate_limited for a request beyond that.
 */
export function createWorkLimits(requestsPerAccount: number): EnterWork {
  const accounts = new Map<string, Work>()
  return (principal, request, response) => {
    // The client left while its credentials were checked, so the end below would never come.
    if (response.closed) return
    const account = accountOf(principal)
    const work = accounts.get(account) ?? { requests: 0, bodyBytes: 0 }
    const bodyBytes = bodyBytesOf(request)
    if (work.requests >= requestsPerAccount)
      throw tooManyRequests(`No more than ${requestsPerAccount} requests of an account at a time.`, 1)
    if (work.bodyBytes > 0 && work.bodyBytes + bodyBytes > MAX_BODY_BYTES)
      throw tooManyRequests(`No more than ${MAX_BODY_BYTES} bytes in bodies of an account at a time.`, 1)
    work.requests += 1
    work.bodyBytes += bodyBytes
    accounts.set(account, work)
    response.once('close', () => {
      work.requests -= 1
      work.bodyBytes -= bodyBytes
      if (work.requests === 0) accounts.delete(account)
    })
  }
}

function bodyBytesOf({ headers }: IncomingMessage): number {
  if (headers['content-type']?.toLowerCase().startsWith('application/json') !== true) return 0
  if (headers['transfer-encoding'] !== undefined) return MAX_JSON_BYTES
  return Number(headers['content-length'] ?? 0)
}
