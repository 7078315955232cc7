import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { tooManyRequests } from '../platform/errors.ts'
import type { Principal } from './principal.ts'

const WINDOW_S = 3600

export interface RequestUsage {
  /** Calls in the current hour. */
  readonly requests: number
  readonly requestLimit: number
  /** The seconds until the hour ends and the count restarts. */
  readonly secondsLeft: number
}

type Counted = Pick<Principal, 'via' | 'tokenId' | 'adminId' | 'privileges'>

export interface HourlyLimits {
  readonly requestsPerHour: number
  /** For all tokens of a person, or of an organization, together. */
  readonly accountRequestsPerHour: number
}

/**
 * Limits calls per hour: for each token, for all tokens of one account together, and for Basic authentication of an
 * account. Calls with a session are only counted: a console polls, and a limit would lock out the person who looks at
 * it. The counts are in memory: a restart resets them, and each process has its own.
 */
export interface RequestLimits {
  /** @throws AppError rate_limited when the hour's calls are used up. */
  take(who: Counted): Promise<void>
  usage(who: Counted): Promise<RequestUsage>
}

export function createRequestLimits({ requestsPerHour, accountRequestsPerHour }: HourlyLimits): RequestLimits {
  const limiter = new RateLimiterMemory({ points: requestsPerHour, duration: WINDOW_S })
  const accounts = new RateLimiterMemory({ points: accountRequestsPerHour, duration: WINDOW_S })
  return {
    async take(who) {
      assertWithin(
        await limiter.penalty(keyOf(who)),
        who.via === 'session' ? Infinity : requestsPerHour,
        'calls an hour',
      )
      if (who.tokenId === null) return
      // Otherwise a hundred tokens would have a hundred times as many calls.
      const ofAccount = await accounts.penalty(accountOf(who))
      assertWithin(ofAccount, accountRequestsPerHour, 'calls an hour with all tokens of an account')
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

function assertWithin({ consumedPoints, msBeforeNext }: RateLimiterRes, limit: number, what: string): void {
  if (consumedPoints <= limit) return
  throw tooManyRequests(`No more than ${limit} ${what}.`, Math.max(1, Math.ceil(msBeforeNext / 1000)))
}

/** Returns the person or the organization that owns the session or token. */
export function accountOf({ adminId, privileges }: Pick<Principal, 'adminId' | 'privileges'>): string {
  return adminId ?? privileges[0]?.orgId ?? ''
}

/** Ids are unique across tokens and admins. */
function keyOf({ tokenId, adminId }: Counted): string {
  return tokenId ?? adminId ?? ''
}
