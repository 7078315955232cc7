import type { ClaimedTurn } from './claimed-turns.ts'
import type { Pool } from './pool.ts'

/**
 * Keeps slots for lanes that have waited for their first one for a second. A lane that has slots takes the one that it
 * releases again at once, so a few organizations with a backlog would otherwise keep all slots as long as it lasts, and a few lanes
 * those of their organization.
 */
export interface KeptSlots {
  /** @returns True if the lane may take a slot now. Another one of its organization that has waited takes one before. */
  ask(turn: ClaimedTurn): boolean
  /** Decides for whom slots are kept. Must be called often, before the lanes that wait ask again: a lane that does not ask is forgotten. */
  age(asOfMs: number): void
  /** The organizations with a lane that has no slot and has asked in vain. */
  waitingOrgIds(): string[]
  /**
   * Must be called before each claim of lanes. @returns True if some organization could use no more slots at the claims of a second:
   * then, and once per second, lanes are to be claimed in order to ask for one.
   */
  claimsToAsk(): boolean
}

interface Refusal {
  readonly sinceMs: number
  /** False if the lane has not asked since the last look. */
  hasAsked: boolean
}

/** Not at once, because lanes that take turns need fewer claims than lanes that have a slot each. */
const WAIT_MS = 1000

export function createKeptSlots(pool: Pool, nowMs: () => number): KeptSlots {
  /** The lanes without a slot that were refused one, in the order in which they began to wait. */
  const refused = new Map<ClaimedTurn, Refusal>()
  /** Those that have waited for long enough, by organization. */
  let waiting = new Map<string, Set<ClaimedTurn>>()
  /** The organizations without a slot among these. */
  let starving = new Set<string>()
  let isYielding = false
  /** Since when organizations were full at each claim, or lanes were last claimed to ask for a slot; null if none is full. */
  let fullSinceMs: number | null = null

  /** Organizations have the kept slots in the order in which they began to wait: the last ones would otherwise wait as long as others return. */
  function isKept(orgId: string): boolean {
    const left = pool.left()
    if (starving.size < left) return false
    return !starving
      .values()
      .take(left)
      .some((first) => first === orgId)
  }

  /** At once, because the slot could otherwise go to another organization. */
  function yieldSlot(turn: ClaimedTurn): void {
    const others = waiting.get(turn.orgId)
    const [first] = others ?? []
    if (isYielding || others === undefined || first === undefined || others.has(turn)) return
    others.delete(first)
    isYielding = true
    first.retry()
    isYielding = false
  }

  const mayTake = (orgId: string): boolean => pool.fits(orgId, 1) && !isKept(orgId)

  return {
    ask(turn) {
      const { orgId } = turn
      if (mayTake(orgId)) yieldSlot(turn)
      if (mayTake(orgId)) {
        refused.delete(turn)
        waiting.get(orgId)?.delete(turn)
        starving.delete(orgId)
        return true
      }
      if (turn.requests > 0) return false
      const refusal = refused.get(turn)
      if (refusal === undefined) refused.set(turn, { sinceMs: nowMs(), hasAsked: true })
      else refusal.hasAsked = true
      return false
    },
    age(asOfMs) {
      for (const [turn, refusal] of refused) {
        if (!refusal.hasAsked) refused.delete(turn)
        refusal.hasAsked = false
      }
      const turns = [...refused].flatMap(([turn, { sinceMs }]) => (asOfMs - sinceMs < WAIT_MS ? [] : [turn]))
      waiting = new Map([...Map.groupBy(turns, ({ orgId }) => orgId)].map(([orgId, ofOrg]) => [orgId, new Set(ofOrg)]))
      starving = new Set([...waiting.keys()].filter((orgId) => !pool.isUsedBy(orgId)))
    },
    waitingOrgIds: () => [...new Set([...refused.keys()].map(({ orgId }) => orgId))],
    claimsToAsk() {
      if (pool.fullOrgIds().length === 0) {
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
