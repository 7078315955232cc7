import type { Pool } from './pool.ts'

/**
 * Keeps slots for organizations that have waited for their first one for a second. A lane that has slots takes the one that it
 * releases again at once, so a few organizations with a backlog would otherwise keep all slots as long as it lasts.
 */
export interface KeptSlots {
  /** @returns True if a lane of the organization may take a slot now. */
  ask(orgId: string): boolean
  /** Decides for whom slots are kept. Must be called often, before the lanes that wait ask again: who does not is forgotten. */
  age(asOfMs: number): void
  /** The organizations that have asked in vain. */
  waitingOrgIds(): string[]
  /**
   * Must be called before each claim of lanes. @returns True if no slot has been free at the claims of a second: then, and once
   * per second, lanes of organizations without a slot are to be claimed in order to ask for one.
   */
  claimsToAsk(): boolean
}

/** Not at once, because lanes that take turns need fewer claims than lanes that have a slot each. */
const WAIT_MS = 1000

export function createKeptSlots(pool: Pool, nowMs: () => number): KeptSlots {
  /** The organizations without a slot that were refused one, and since when. */
  let refused = new Map<string, number>()
  let refusedBefore = refused
  let starving = new Set<string>()
  /** Since when no slot was free at a claim, or lanes were last claimed to ask for one; null while slots are free. */
  let fullSinceMs: number | null = null

  function isKept(orgId: string): boolean {
    return starving.size > 0 && !starving.has(orgId) && pool.left() <= starving.size
  }

  return {
    ask(orgId) {
      if (pool.fits(orgId, 1) && !isKept(orgId)) {
        refused.delete(orgId)
        starving.delete(orgId)
        return true
      }
      if (!pool.isUsedBy(orgId) && !refused.has(orgId)) refused.set(orgId, refusedBefore.get(orgId) ?? nowMs())
      return false
    },
    age(asOfMs) {
      refusedBefore = refused
      refused = new Map()
      starving = new Set([...refusedBefore].flatMap(([orgId, sinceMs]) => (asOfMs - sinceMs < WAIT_MS ? [] : [orgId])))
    },
    waitingOrgIds: () => [...new Set([...refusedBefore.keys(), ...refused.keys()])],
    claimsToAsk() {
      if (pool.left() > 0) {
        fullSinceMs = null
        return false
      }
      const now = nowMs()
      fullSinceMs ??= now
      if (now - fullSinceMs < WAIT_MS) return false
      fullSinceMs = now
      return true
    },
  }
}
