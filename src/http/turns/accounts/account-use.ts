import { greatestOf } from '../../../platform/extremes.ts'

/** An account counts as present for this long after its last request. */
const PRESENT_MS = 2000
/** Use is forgotten with this time constant, so a steady use of 300 ms per second counts as 300. */
const FORGET_MS = 1000
/** An account that wants less than this share of the main thread never becomes heavy. */
const LIGHT_SHARE = 0.25
/** An account becomes heavy only if it wants this many times as much as each other one, and as it would get if all got equal parts. */
const MUCH_MORE = 1.5
/** No account becomes heavy as long as those that are not heavy want less than this share together. */
const LIGHT_TOGETHER = 0.6
/** A heavy account that wants this many times as much makes another one light: that one may only wait behind it. */
const FAR_MORE = 2
/** A heavy account that wants less than this part of what it gets for `MODEST_MS` becomes light, though requests may wait. */
const MODEST_PART = 0.75
const MODEST_MS = 1000
/** However busy the machine is, a neighbor with usual requests must not look heavy. */
const LEAST_OBTAINABLE = 0.5
/**
 * More than this makes no difference. It is the same on a busy machine, where it is more than the thread can do: otherwise a
 * neighbor that was taken for heavy would never want far less than an attacker.
 */
const MOST_WANTED_MS = 1000
/** The share of the main thread that a heavy account gets, and that all of them together get. */
const HEAVY_SHARE = 0.2
const HEAVY_TOGETHER = 0.6
/** The share that all heavy accounts together get while the others use less than `IDLE_SHARE`. */
const IDLE_TOGETHER = 0.6
const IDLE_SHARE = 0.02
/** The assumed cost for the main thread of a request of an account that has not sent any yet. */
const UNKNOWN_COST_MS = 2
/** The weight of the latest request in the average cost of an account. */
const LATEST = 0.2

/** All callers without a known account share one use, because an attacker may have many networks. */
export const UNKNOWN_CALLERS = 'unknown callers'

interface Use {
  /** Used time of the main thread in milliseconds, decayed to `atMs`. */
  usedMs: number
  atMs: number
  /** The average cost of its requests for the main thread, for kinds of requests of which none has ended yet. */
  averageMs: number
  /** The waiting requests of each kind. */
  readonly waiting: Map<string, { count: number; databaseMs: number }>
}

/** A request, as far as its cost depends on it. */
export interface Demand {
  /** See Requester. */
  readonly requestKind: string
  /** Its cost for the database: milliseconds on a machine without other work. */
  readonly databaseMs: number
}

interface Ended {
  readonly expectedMs: number
  /** Its cost for the main thread. */
  readonly threadMs: number
  readonly databaseMs: number
  /** False for a part of a request, which says nothing about others. */
  readonly isComplete: boolean
}

/** How much of the main thread each account has used in the last seconds. */
export interface AccountUse {
  /** Notes that an account has sent a request. Unknown callers don't count as present. */
  see(account: string): void
  /** Counts a request that begins, with its expected cost. @returns That cost. */
  begin(account: string, demand: Demand): number
  /** Replaces the expected cost by the real one. @returns That cost. */
  end(account: string, ended: Ended): number
  /**
   * Adds work that earlier requests of the account have caused in threads or in the database, unless it has left.
   * @returns Its cost.
   */
  charge(account: string, work: Partial<Pick<Ended, 'threadMs' | 'databaseMs'>>): number
  /** Returns the cost that is expected of a request. */
  expectedMs(account: string, demand: Demand): number
  /** True if no other account has sent a request lately. */
  isAlone(account: string): boolean
  /** Notes that a request of the account waits, or waits no longer. It counts as present meanwhile. */
  countWaiting(account: string, demand: Demand, by: 1 | -1): void
  /**
   * True if the account wants more than a light share of the main thread, and much more than any other present account or
   * than an equal part, and if it was not satisfied since and has not wanted little for a second. What it has used lately
   * and what its waiting requests will use is what it wants.
   */
  isHeavy(account: string): boolean
  /** Notes that a heavy account wants no more than it gets: it is not heavy any more. */
  satisfy(account: string): void
  /** Returns the share of the main thread that each heavy account gets. */
  shareOfHeavy(): number
}

interface AccountUseOptions {
  /** Monotonic milliseconds. */
  readonly now: () => number
  /**
   * The share of its time, up to 1, in which the main thread can work: less on a machine that is busy with other work. The
   * time of the database counts by the same share, because it does not grow when the thread gets less of its own.
   */
  readonly obtainable: () => number
  /** What requests of the account and of this kind cost the main thread; undefined if that is not known. */
  readonly costOf: (account: string, requestKind: string) => number | undefined
}

export function createAccountUse({ now, obtainable, costOf }: AccountUseOptions): AccountUse {
  const uses = new Map<string, Use>()
  /** When each account sent its last request, the oldest first. */
  const seenAtMs = new Map<string, number>()
  /** Heavy accounts, with the time since when each wants little; null for one that wants more. */
  const heavy = new Map<string, number | null>()

  function find(account: string): Use {
    const nowMs = now()
    const use = uses.get(account) ?? newUse(nowMs)
    use.usedMs *= Math.exp((use.atMs - nowMs) / FORGET_MS)
    use.atMs = nowMs
    return use
  }

  function forgetAbsent(): void {
    for (const [account, atMs] of seenAtMs) {
      if (now() - atMs <= PRESENT_MS) break
      if (find(account).waiting.size > 0) continue
      seenAtMs.delete(account)
      uses.delete(account)
      heavy.delete(account)
    }
    if (seenAtMs.size === 0) heavy.delete(UNKNOWN_CALLERS)
  }

  function see(account: string): void {
    if (account === UNKNOWN_CALLERS) return
    seenAtMs.delete(account)
    seenAtMs.set(account, now())
  }

  const capacityMs = (): number => FORGET_MS * Math.max(obtainable(), LEAST_OBTAINABLE)

  function wantedMs(account: string): number {
    const { usedMs, averageMs, waiting } = find(account)
    let wanted = usedMs
    for (const [requestKind, { count, databaseMs }] of waiting)
      wanted += (costOf(account, requestKind) ?? averageMs) * count + databaseMs * obtainable()
    return Math.min(wanted, MOST_WANTED_MS)
  }

  function mostWantedMs(): number {
    let most = 0
    for (const account of heavy.keys()) most = Math.max(most, wantedMs(account))
    return most
  }

  function becomesHeavy(account: string): boolean {
    const wanted = wantedMs(account)
    if (wanted <= LIGHT_SHARE * capacityMs() || wanted * FAR_MORE < mostWantedMs()) return false
    // Heavy ones are slowed down already.
    const others = [...seenAtMs.keys()].filter((other) => other !== account && !heavy.has(other)).map(wantedMs)
    const largestMs = Math.max(greatestOf(others), 0)
    // The largest one first: without it, this one may fit.
    if (largestMs > wanted || sum([wanted, ...others]) <= LIGHT_TOGETHER * capacityMs()) return false
    if (account === UNKNOWN_CALLERS) return seenAtMs.size > 0
    return others.length > 0 && wanted > MUCH_MORE * Math.min(largestMs, equalPart([wanted, ...others], capacityMs()))
  }

  /** True if a heavy account has wanted less than it gets for a while, so it needs no limit. */
  function isModest(account: string): boolean {
    if (wantedMs(account) >= MODEST_PART * Math.min(HEAVY_SHARE, shareOfHeavy()) * capacityMs()) {
      heavy.set(account, null)
      return false
    }
    const sinceMs = heavy.get(account) ?? now()
    heavy.set(account, sinceMs)
    return now() - sinceMs >= MODEST_MS
  }

  function shareOfHeavy(): number {
    let lightMs = 0
    for (const account of seenAtMs.keys()) if (!heavy.has(account)) lightMs += find(account).usedMs
    if (lightMs < IDLE_SHARE * FORGET_MS * obtainable()) return IDLE_TOGETHER / Math.max(heavy.size, 1)
    return Math.min(HEAVY_SHARE, HEAVY_TOGETHER / Math.max(heavy.size, 1))
  }

  function expectedMs(account: string, { requestKind, databaseMs }: Demand): number {
    return (costOf(account, requestKind) ?? find(account).averageMs) + databaseMs * obtainable()
  }

  return {
    see(account) {
      forgetAbsent()
      see(account)
    },
    begin(account, demand) {
      const ms = expectedMs(account, demand)
      const use = find(account)
      use.usedMs += ms
      uses.set(account, use)
      // Its credentials may have been checked for so long that it does not count as present any more.
      if (!seenAtMs.has(account)) see(account)
      return ms
    },
    end(account, { expectedMs: expected, threadMs, databaseMs, isComplete }) {
      const use = find(account)
      const realMs = threadMs + databaseMs * obtainable()
      use.usedMs = Math.max(use.usedMs + realMs - expected, 0)
      if (isComplete) use.averageMs += (threadMs - use.averageMs) * LATEST
      return realMs
    },
    charge(account, { threadMs = 0, databaseMs = 0 }) {
      if (!seenAtMs.has(account)) return 0
      const use = find(account)
      const ms = threadMs + databaseMs * obtainable()
      use.usedMs += ms
      uses.set(account, use)
      return ms
    },
    expectedMs,
    isAlone(account) {
      forgetAbsent()
      return seenAtMs.size === 0 || (seenAtMs.size === 1 && seenAtMs.has(account))
    },
    countWaiting(account, { requestKind, databaseMs }, by) {
      const use = find(account)
      const before = use.waiting.get(requestKind) ?? { count: 0, databaseMs: 0 }
      const after = { count: before.count + by, databaseMs: before.databaseMs + by * databaseMs }
      if (after.count > 0) use.waiting.set(requestKind, after)
      else use.waiting.delete(requestKind)
      uses.set(account, use)
      see(account)
    },
    isHeavy(account) {
      forgetAbsent()
      if (!heavy.has(account)) {
        if (!becomesHeavy(account)) return false
        heavy.set(account, null)
      } else if (isModest(account) || wantedMs(account) * FAR_MORE < mostWantedMs()) heavy.delete(account)
      return heavy.has(account)
    },
    satisfy: (account) => void heavy.delete(account),
    shareOfHeavy,
  }
}

function newUse(atMs: number): Use {
  return { usedMs: 0, atMs, averageMs: UNKNOWN_COST_MS, waiting: new Map() }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** Returns what each gets at most if all get equal parts, and what some don't want is left to the others. */
function equalPart(wants: readonly number[], capacity: number): number {
  const ascending = wants.toSorted((a, b) => a - b)
  let left = capacity
  for (const [index, wanted] of ascending.entries()) {
    const part = left / (ascending.length - index)
    if (wanted > part) return part
    left -= wanted
  }
  return Infinity
}
