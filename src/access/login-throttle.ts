import type { Clock } from '../platform/clock.ts'
import { tooManyRequests } from '../platform/errors.ts'
import { networkOf } from '../platform/network-of.ts'
import { sha256Hex } from '../platform/secrets.ts'

/** Wrong attempts at one account that cause no delay, and how long each counts. */
const FREE_TRIES = 5
const WINDOW_MS = 15 * 60_000
const FIRST_DELAY_MS = 30_000
/** No account is ever locked: its owner waits at most this long, or recovers it by mail. */
const LONGEST_DELAY_MS = 15 * 60_000

const ADDRESS_TRIES = 30
const ADDRESS_WINDOW_MS = 60_000

/** Beyond this the oldest entries are dropped; an attacker needs thousands of source addresses to get there. */
const MAX_ENTRIES = 100_000

/** The attempts at one account, or from one address. */
export interface Tries {
  readonly count: number
  readonly lastMs: number
}

/**
 * Slows down guessing. It counts in memory, for every account that is named whether or not it exists: a refusal thus
 * reveals nothing, and a flood does not reach the database. A restart resets the counts.
 */
export interface LoginThrottle {
  /**
   * Counts an attempt before it is checked, so that only one of many simultaneous attempts is the first.
   * @param key What is guessed at, such as an e-mail address.
   * @throws AppError rate_limited with the seconds to wait; the attempt then does not count.
   */
  take(key: string): void
  /** Resets the count of wrong attempts after a right one. */
  succeed(key: string): void
  /** Removes an attempt from the count because it was not checked after all. */
  giveBack(key: string): void
  /**
   * Counts an attempt from an address (login, registration, recovery), for any account. @throws AppError rate_limited.
   */
  takeFrom(srcIp: string): void
  /** Removes a right attempt from the count of its address, which many people may share. */
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
      // A fixed window; `lastMs` is its start here.
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

/**
 * Returns the milliseconds until the next attempt is allowed; 0 means now. After the free attempts, each one doubles
 * the delay.
 */
export function decideWaitMs(tries: Tries | undefined, nowMs: number): number {
  const count = countSoFar(tries, nowMs)
  if (tries === undefined || count < FREE_TRIES) return 0
  const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (count - FREE_TRIES), LONGEST_DELAY_MS)
  return Math.max(tries.lastMs + delayMs - nowMs, 0)
}

/** Counts the attempts that still matter: a quarter of an hour without one resets the count. */
function countSoFar(tries: Tries | undefined, nowMs: number): number {
  return tries === undefined || nowMs - tries.lastMs > WINDOW_MS ? 0 : tries.count
}

/** Keeps entries in the order of their last use. */
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
