import { RateLimiterMemory } from 'rate-limiter-flexible'
import { tooManyRequests } from '../platform/errors.ts'
import type { Principal } from './principal.ts'

const WINDOW_S = 3600

export interface RequestUsage {
  /** Calls in the current hour. */
  readonly requests: number
  readonly requestLimit: number
  /** Until that hour ends and the count starts again. */
  readonly secondsLeft: number
}

type Counted = Pick<Principal, 'via' | 'tokenId' | 'adminId'>

/**
 * Limits calls an hour, for each token separately; Basic and sessions count for their account. Sessions are counted
 * only: a console polls, and a limit would lock out the person who looks at it. The counts are in memory: a restart
 * resets them, and each process has its own.
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

/** Ids are unique across tokens and admins. */
function keyOf({ tokenId, adminId }: Counted): string {
  return tokenId ?? adminId ?? ''
}
