import { RateLimiterMemory } from 'rate-limiter-flexible'
import { tooManyRequests } from '../platform/errors.ts'
import type { Principal } from './principal.ts'

const WINDOW_S = 3600

export interface RequestUsage {
  /** Calls in the hour that runs. */
  readonly requests: number
  readonly requestLimit: number
  /** Until that hour ends and the count begins anew. */
  readonly secondsLeft: number
}

type Counted = Pick<Principal, 'via' | 'tokenId' | 'adminId'>

/**
 * Calls an hour, for each token by itself; Basic and sessions count for their account. Sessions are
 * counted only: a console asks again and again, and would lock out the person who looks at it.
 * In memory: a restart forgets, and each process has a count of its own.
 */
export interface RequestLimits {
  /** @throws AppError rate_limited when the hour's calls are used up. */
  take(who: Counted): Promise<void>
  usage(who: Counted): Promise<RequestUsage>
}

export function createRequestLimits(requestsPerHour: number): RequestLimits {
  const limiter = new RateLimiterMemory({ points: requestsPerHour, duration: WINDOW_S })
  return {
    async take(who) {
      const key = keyOf(who)
      const { consumedPoints, msBeforeNext } = await limiter.penalty(key)
      if (consumedPoints <= requestsPerHour || who.via === 'session') return
      throw tooManyRequests(
        `No more than ${requestsPerHour} calls an hour.`,
        Math.max(1, Math.ceil(msBeforeNext / 1000)),
      )
    },
    async usage(who) {
      const counted = await limiter.get(keyOf(who))
      if (counted === null || counted.msBeforeNext <= 0)
        return { requests: 0, requestLimit: requestsPerHour, secondsLeft: WINDOW_S }
      return {
        requests: counted.consumedPoints,
        requestLimit: requestsPerHour,
        secondsLeft: Math.ceil(counted.msBeforeNext / 1000),
      }
    },
  }
}

/** Ids are unique over tokens and admins. */
function keyOf({ tokenId, adminId }: Counted): string {
  return tokenId ?? adminId ?? ''
}
