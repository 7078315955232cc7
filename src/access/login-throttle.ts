import type { Clock } from '../platform/clock.ts'
import { tooManyRequests } from '../platform/errors.ts'
import { networkOf } from '../platform/network-of.ts'
import { sha256Hex } from '../platform/secrets.ts'

/** Wrong tries at one account that cost nothing, and how long each counts. */
const FREE_TRIES = 5
const WINDOW_MS = 15 * 60_000
const FIRST_DELAY_MS = 30_000
/** No account is ever locked: whoever knows the password waits at most this long, or recovers by mail. */
const LONGEST_DELAY_MS = 15 * 60_000

const ADDRESS_TRIES = 30
const ADDRESS_WINDOW_MS = 60_000

/** Beyond this the oldest entries go; an attacker needs thousands of source addresses to get there. */
const MAX_ENTRIES = 100_000

/** What was tried at one account, or from one address. */
export interface Tries {
  readonly count: number
  readonly lastMs: number
}

/**
 * Bounds guessing. It keeps its counts in memory and for every account that is named, whether there is
 * one or not: so a refusal tells nothing, and a flood costs no database. A restart forgets them.
 */
export interface LoginThrottle {
  /**
   * Counts a try before it is checked, so that many at once can't all be the first.
   *
   * @param key What is guessed at, like an e-mail address.
   * @throws AppError rate_limited with the seconds to wait; the try then does not count.
   */
  take(key: string): void
  /** The try was right: forgets the wrong ones before. */
  succeed(key: string): void
  /** The try was not checked after all, so it does not count. */
  giveBack(key: string): void
  /** Counts a try from an address (login, registration, recovery), whatever the account. @throws AppError rate_limited. */
  takeFrom(srcIp: string): void
  /** The try was right, so it does not count: many people may share an address. */
  giveBackTo(srcIp: string): void
}

export function createLoginThrottle(clock: Clock): LoginThrottle {
  const accounts = new Map<string, Tries>()
  const addresses = new Map<string, Tries>()
  return {
    take(key) {
      const nowMs = clock.now().getTime()
      const hash = sha256Hex(key)
      const tries = accounts.get(hash)
      const waitMs = decideWaitMs(tries, nowMs)
      if (waitMs > 0) throw tooManyRequests('Too many failed logins.', Math.ceil(waitMs / 1000))
      remember(accounts, hash, { count: countSoFar(tries, nowMs) + 1, lastMs: nowMs })
    },
    succeed(key) {
      accounts.delete(sha256Hex(key))
    },
    giveBack(key) {
      giveBackIn(accounts, sha256Hex(key))
    },
    takeFrom(srcIp) {
      const nowMs = clock.now().getTime()
      const key = networkOf(srcIp)
      const known = addresses.get(key)
      // A fixed window: `lastMs` is its beginning here.
      const window =
        known !== undefined && nowMs - known.lastMs < ADDRESS_WINDOW_MS ? known : { count: 0, lastMs: nowMs }
      if (window.count >= ADDRESS_TRIES)
        throw tooManyRequests(
          'Too many tries from this address.',
          Math.ceil((window.lastMs + ADDRESS_WINDOW_MS - nowMs) / 1000),
        )
      remember(addresses, key, { count: window.count + 1, lastMs: window.lastMs })
    },
    giveBackTo(srcIp) {
      giveBackIn(addresses, networkOf(srcIp))
    },
  }
}

/** Milliseconds until the next try is allowed; 0 = now. After the free tries the pause doubles with each. */
export function decideWaitMs(tries: Tries | undefined, nowMs: number): number {
  const count = countSoFar(tries, nowMs)
  if (tries === undefined || count < FREE_TRIES) return 0
  const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (count - FREE_TRIES), LONGEST_DELAY_MS)
  return Math.max(tries.lastMs + delayMs - nowMs, 0)
}

/** Tries that still count: a quarter of an hour without one forgets them all. */
function countSoFar(tries: Tries | undefined, nowMs: number): number {
  return tries === undefined || nowMs - tries.lastMs > WINDOW_MS ? 0 : tries.count
}

/** Entries are kept in the order of their last use. */
function remember(entries: Map<string, Tries>, key: string, tries: Tries): void {
  entries.delete(key)
  entries.set(key, tries)
  if (entries.size <= MAX_ENTRIES) return
  const [oldest] = entries.keys()
  if (oldest !== undefined) entries.delete(oldest)
}

function giveBackIn(entries: Map<string, Tries>, key: string): void {
  const known = entries.get(key)
  if (known !== undefined) entries.set(key, { ...known, count: Math.max(known.count - 1, 0) })
}
