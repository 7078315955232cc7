import { RateLimiterMemory } from 'rate-limiter-flexible'
import type { Principal } from '../../access/principal.ts'
import type { InOrg } from '../../access/scope.ts'
import { tooManyRequests } from '../../platform/errors.ts'
import type { ClaimPlan, Claimable } from './plan-claim.ts'
import { NOT_FOUND } from './select-devices.ts'

const WINDOW_S = 3600
/** More wrong codes than in a careful import, and far too few to guess one by chance. */
const WRONG_CODES_PER_HOUR = 1000

export interface Claimant {
  readonly scope: InOrg
  readonly principal: Pick<Principal, 'adminId' | 'tokenId'>
}

/**
 * Limits guessing at claim codes: it bounds how many codes of no unclaimed device an organization, and an account, may try in
 * an hour. The counts are in memory: a restart resets them.
 */
export interface ClaimGuesses {
  /**
   * Claims, and counts the wrong codes.
   * @throws AppError rate_limited, before anything is claimed, when there were too many.
   */
  limit<T extends Claimable>(who: Claimant, claim: () => Promise<ClaimPlan<T>>): Promise<ClaimPlan<T>>
}

export function createClaimGuesses(): ClaimGuesses {
  const counts = new RateLimiterMemory({ points: WRONG_CODES_PER_HOUR, duration: WINDOW_S })
  return {
    async limit({ scope, principal }, claim) {
      const keys = [scope.orgId, principal.adminId ?? principal.tokenId ?? '']
      for (const key of keys) {
        const counted = await counts.get(key)
        if (counted !== null && counted.consumedPoints >= WRONG_CODES_PER_HOUR)
          throw tooManyRequests(
            `${counted.consumedPoints} claim codes were wrong within the hour.`,
            Math.max(1, Math.ceil(counted.msBeforeNext / 1000)),
          )
      }
      const plan = await claim()
      const wrong = plan.refused.filter(({ reason }) => reason === NOT_FOUND).length
      if (wrong > 0) for (const key of keys) await counts.penalty(key, wrong)
      return plan
    },
  }
}
