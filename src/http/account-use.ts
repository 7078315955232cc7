/** An account counts as present for this long after its last request. */
const PRESENT_MS = 2000
/** Use is forgotten with this time constant, so a steady use of 300 ms per second counts as 300. */
const FORGET_MS = 1000
/** An account that wants less than this share of the main thread never becomes heavy. */
const LIGHT_SHARE = 0.25
/** Nor does one that wants less than this many times as much as another one: both are about as busy. */
const MUCH_MORE = 1.5
/** Nor does any as long as the accounts that are not heavy want less than this share together. */
const LIGHT_TOGETHER = 0.6
/** A heavy account that wants this many times as much makes another one light: that one may only wait behind it. */
const FAR_MORE = 2
/** However busy the machine is, a neighbor with usual requests must not look heavy. */
const LEAST_OBTAINABLE = 0.5
/** More than what the main thread can do in this time makes no difference. */
const MOST_WANTED_MS = 1000
/** The share of the main thread that a heavy account gets, and that all of them together get. */
const HEAVY_SHARE = 0.2
const HEAVY_TOGETHER = 0.6
/** Together they get this much while the others use less than `IDLE_SHARE`. */
const IDLE_TOGETHER = 0.6
const IDLE_SHARE = 0.02
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
  /** Requests that wait for their turn. */
  waiting: number
}

/** How much of the main thread each account has used in the last seconds. */
export interface AccountUse {
  /** Notes that an account has sent a request. Strangers don't count as present. */
  see(account: string): void
  /** Counts a request that begins, with the average cost of the account's requests. @returns That cost. */
  begin(account: string): number
  /** Replaces the expected cost by the real one. */
  end(account: string, cost: { readonly expectedMs: number; readonly realMs: number }): void
  /** The average cost of the account's requests. */
  averageMs(account: string): number
  /** True if no other account has sent a request lately. */
  isAlone(account: string): boolean
  /** Notes how many requests of the account wait for others of it. */
  setWaiting(account: string, waiting: number): void
  /**
   * True if the account wants more than a light share of the main thread, and much more than another present account, and
   * if it was not satisfied since. What it has used lately and what its waiting requests will use is what it wants.
   */
  isHeavy(account: string): boolean
  /** Notes that a heavy account wants no more than it gets: it is not heavy any more. */
  satisfy(account: string): void
  /** Returns the share of the main thread that each heavy account gets. */
  shareOfHeavy(): number
}

/**
 * @param now Monotonic milliseconds.
 * @param obtainable The share of its time, up to 1, in which the main thread can work: less on a machine that is busy with
 *   other work.
 */
export function createAccountUse(now: () => number, obtainable: () => number): AccountUse {
  const uses = new Map<string, Use>()
  /** When each account sent its last request, the oldest first. */
  const seenAtMs = new Map<string, number>()
  const heavy = new Set<string>()

  function find(account: string): Use {
    const nowMs = now()
    const use = uses.get(account) ?? { usedMs: 0, atMs: nowMs, averageMs: UNKNOWN_COST_MS, waiting: 0 }
    use.usedMs *= Math.exp((use.atMs - nowMs) / FORGET_MS)
    use.atMs = nowMs
    return use
  }

  function forgetAbsent(): void {
    for (const [account, atMs] of seenAtMs) {
      if (now() - atMs <= PRESENT_MS) break
      seenAtMs.delete(account)
      uses.delete(account)
      heavy.delete(account)
    }
    if (seenAtMs.size === 0) heavy.delete(STRANGERS)
  }

  function wantedMs(account: string): number {
    const { usedMs, averageMs, waiting } = find(account)
    return Math.min(usedMs + averageMs * waiting, MOST_WANTED_MS)
  }

  function mostWantedMs(): number {
    let most = 0
    for (const account of heavy) most = Math.max(most, wantedMs(account))
    return most
  }

  function becomesHeavy(account: string): boolean {
    const wanted = wantedMs(account)
    const capacityMs = FORGET_MS * Math.max(obtainable(), LEAST_OBTAINABLE)
    if (wanted <= LIGHT_SHARE * capacityMs || wanted * FAR_MORE < mostWantedMs()) return false
    let lightMs = wanted
    let wantsMuchMore = account === STRANGERS && seenAtMs.size > 0
    for (const other of seenAtMs.keys()) {
      if (other === account) continue
      // It is slowed down already.
      if (heavy.has(other)) continue
      const otherMs = wantedMs(other)
      if (otherMs * MUCH_MORE < wanted) wantsMuchMore = true
      // The largest one first: without it, this one may fit.
      if (otherMs > wanted) return false
      lightMs += otherMs
    }
    return wantsMuchMore && lightMs > LIGHT_TOGETHER * capacityMs
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
    averageMs: (account) => find(account).averageMs,
    isAlone(account) {
      forgetAbsent()
      return seenAtMs.size === 0 || (seenAtMs.size === 1 && seenAtMs.has(account))
    },
    setWaiting(account, waiting) {
      const use = find(account)
      use.waiting = waiting
      // An account that is not present would never be forgotten.
      if (account === STRANGERS || seenAtMs.has(account)) uses.set(account, use)
    },
    isHeavy(account) {
      forgetAbsent()
      if (!heavy.has(account)) {
        if (!becomesHeavy(account)) return false
        heavy.add(account)
      } else if (wantedMs(account) * FAR_MORE < mostWantedMs()) heavy.delete(account)
      return heavy.has(account)
    },
    satisfy: (account) => void heavy.delete(account),
    shareOfHeavy() {
      let lightMs = 0
      for (const account of seenAtMs.keys()) if (!heavy.has(account)) lightMs += find(account).usedMs
      if (lightMs < IDLE_SHARE * FORGET_MS * obtainable()) return IDLE_TOGETHER / Math.max(heavy.size, 1)
      return Math.min(HEAVY_SHARE, HEAVY_TOGETHER / Math.max(heavy.size, 1))
    },
  }
}
