/** An account counts as present for this long after its last request. */
const PRESENT_MS = 2000
/** Use is forgotten with this time constant, so a steady use of 300 ms per second counts as 300. */
const FORGET_MS = 1000
/** An account that uses less of the main thread is never heavy. */
const LIGHT_USE_MS = 250
/** Nor is one that uses less than this many times as much as another one: both are about as busy. */
const MUCH_MORE = 1.5
/** The assumed cost of a request of an account that has not sent any yet. */
const UNKNOWN_COST_MS = 2
/** The weight of the latest request in the average cost of an account. */
const LATEST = 0.2

/** All callers who are not known share one use: an attacker may have many networks. */
export const STRANGERS = 'strangers'

interface Use {
  /** Milliseconds of the main thread, decayed to `atMs`. */
  usedMs: number
  atMs: number
  averageMs: number
}

/** How much of the main thread each account has used in the last seconds. */
export interface AccountUse {
  /** Notes that an account has sent a request. Strangers don't count as present. */
  see(account: string): void
  /** Counts a request that begins, with the average cost of the account's requests. @returns That cost. */
  begin(account: string): number
  /** Replaces the expected cost by the real one. */
  end(account: string, cost: { readonly expectedMs: number; readonly realMs: number }): void
  /** True if no other account has sent a request lately. */
  isAlone(account: string): boolean
  /** True if the account uses more than a light share, and much more than another present account. */
  isHeavy(account: string): boolean
}

/** @param now Monotonic milliseconds. */
export function createAccountUse(now: () => number): AccountUse {
  const uses = new Map<string, Use>()
  /** When each account sent its last request, the oldest first. */
  const seenAtMs = new Map<string, number>()

  function find(account: string): Use {
    const nowMs = now()
    const use = uses.get(account) ?? { usedMs: 0, atMs: nowMs, averageMs: UNKNOWN_COST_MS }
    use.usedMs *= Math.exp((use.atMs - nowMs) / FORGET_MS)
    use.atMs = nowMs
    return use
  }

  function forgetAbsent(): void {
    for (const [account, atMs] of seenAtMs) {
      if (now() - atMs <= PRESENT_MS) return
      seenAtMs.delete(account)
      uses.delete(account)
    }
  }

  return {
    see(account) {
      forgetAbsent()
      if (account === STRANGERS) return
      seenAtMs.delete(account)
      seenAtMs.set(account, now())
    },
    begin(account) {
      const use = find(account)
      use.usedMs += use.averageMs
      uses.set(account, use)
      // It may have waited for so long that it does not count as present any more.
      if (account !== STRANGERS && !seenAtMs.has(account)) seenAtMs.set(account, now())
      return use.averageMs
    },
    end(account, { expectedMs, realMs }) {
      const use = find(account)
      use.usedMs = Math.max(use.usedMs + realMs - expectedMs, 0)
      use.averageMs += (realMs - use.averageMs) * LATEST
    },
    isAlone(account) {
      forgetAbsent()
      return seenAtMs.size === 0 || (seenAtMs.size === 1 && seenAtMs.has(account))
    },
    isHeavy(account) {
      forgetAbsent()
      const { usedMs } = find(account)
      if (usedMs <= LIGHT_USE_MS) return false
      if (account === STRANGERS) return seenAtMs.size > 0
      for (const other of seenAtMs.keys()) if (other !== account && find(other).usedMs * MUCH_MORE < usedMs) return true
      return false
    },
  }
}
