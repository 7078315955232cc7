import type { Clock } from '../../platform/time/clock.ts'
import { tooManyRequests } from '../../platform/errors.ts'
import { networkOf } from '../../platform/outbound/network-of.ts'
import { sha256Hex } from '../../platform/secrets.ts'

/** Wrong attempts at one account that cause no delay, and how long each counts. */
const FREE_TRIES = 5
const WINDOW_MS = 15 * 60_000
const FIRST_DELAY_MS = 30_000
/** No account is ever locked: its owner waits at most this long, or recovers it by mail. */
const LONGEST_DELAY_MS = 15 * 60_000

/** Wrong attempts at one account by strangers together. A guesser with many networks gets no further than these. */
const STRANGER_TRIES = 100

const ADDRESS_TRIES = 30
const ADDRESS_WINDOW_MS = 60_000

/** Beyond this the oldest entries are dropped; an attacker needs thousands of source addresses to get there. */
const MAX_ENTRIES = 100_000

/** The attempts at one account, or from one address. */
export interface Tries {
  readonly count: number
  readonly lastMs: number
}

/** The source of attempts at an account. Each is counted separately, so a guesser delays nobody else. */
export interface Guesser {
  /** A network, a browser or a session: the attempts of each are counted apart. */
  readonly id: string
  /** True for one that has signed in to the account before, and so does not wait because strangers guess. */
  readonly isKnown: boolean
}

/** Returns the guesser for a network, for attempts without a cookie that identifies the browser. */
export function guesserAt(srcIp: string): Guesser {
  return { id: `network ${networkOf(srcIp)}`, isKnown: false }
}

/**
 * Slows down guessing. It counts in memory, for every account that is named whether or not it exists: a refusal thus
 * reveals nothing, and a flood does not reach the database. A restart resets the counts.
 */
export interface LoginThrottle {
  /**
   * Counts an attempt before it is checked, so that only one of many simultaneous attempts is the first.
   * @param key The object of the guess, such as an e-mail address.
   * @throws AppError rate_limited with the seconds to wait; the attempt then does not count.
   */
  take(key: string): void
  /** Resets the count of wrong attempts after a right one. */
  succeed(key: string): void
  /**
   * Does the same as take() for the password of an account: each guesser has its own count, and unknown guessers share
   * another one.
   */
  takeGuess(account: string, guesser: Guesser): void
  /** Resets the count of the guesser, who is known from now on. */
  succeedGuess(account: string, guesser: Guesser): void
  /** Removes an attempt from the counts because it was not checked after all. */
  giveBackGuess(account: string, guesser: Guesser): void
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
  /** The guessers that have signed in, each at one account. */
  const known = new Map<string, true>()

  /** Counts an attempt in each of the counts, or in none. */
  function takeAll(counts: readonly Count[]): void {
    const nowMs = clock.now().getTime()
    const waitMs = Math.max(...counts.map(({ key, free }) => decideWaitMs(accounts.get(key), nowMs, free)))
    if (waitMs > 0) throw tooManyRequests('Too many failed logins.', Math.ceil(waitMs / 1000))
    for (const { key } of counts)
      remember(accounts, key, { count: countSoFar(accounts.get(key), nowMs) + 1, lastMs: nowMs })
  }

  function countsOf(account: string, guesser: Guesser): Count[] {
    const own = { key: keyOf(account, guesser), free: FREE_TRIES }
    if (guesser.isKnown || known.has(own.key)) return [own]
    return [own, { key: sha256Hex(`strangers at ${account}`), free: STRANGER_TRIES }]
  }

  return {
    take(key) {
      takeAll([{ key: sha256Hex(key), free: FREE_TRIES }])
    },
    succeed(key) {
      accounts.delete(sha256Hex(key))
    },
    takeGuess(account, guesser) {
      takeAll(countsOf(account, guesser))
    },
    succeedGuess(account, guesser) {
      const [own, strangers] = countsOf(account, guesser)
      if (strangers !== undefined) giveBackIn(accounts, strangers.key)
      if (own === undefined) return
      accounts.delete(own.key)
      remember(known, own.key, true)
    },
    giveBackGuess(account, guesser) {
      for (const { key } of countsOf(account, guesser)) giveBackIn(accounts, key)
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
export function decideWaitMs(tries: Tries | undefined, nowMs: number, free: number = FREE_TRIES): number {
  const count = countSoFar(tries, nowMs)
  if (tries === undefined || count < free) return 0
  const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (count - free), LONGEST_DELAY_MS)
  return Math.max(tries.lastMs + delayMs - nowMs, 0)
}

/** Counts the attempts that still matter: a quarter of an hour without one resets the count. */
function countSoFar(tries: Tries | undefined, nowMs: number): number {
  return tries === undefined || nowMs - tries.lastMs > WINDOW_MS ? 0 : tries.count
}

/** A count of attempts, and how many of them cause no delay. */
interface Count {
  readonly key: string
  readonly free: number
}

function keyOf(account: string, { id }: Guesser): string {
  return sha256Hex(JSON.stringify([account, id]))
}

/** Keeps entries in the order of their last use. */
function remember<T>(entries: Map<string, T>, key: string, value: T): void {
  entries.delete(key)
  entries.set(key, value)
  if (entries.size <= MAX_ENTRIES) return
  const [oldest] = entries.keys()
  if (oldest !== undefined) entries.delete(oldest)
}

function giveBackIn(entries: Map<string, Tries>, key: string): void {
  const known = entries.get(key)
  if (known !== undefined) entries.set(key, { ...known, count: Math.max(known.count - 1, 0) })
}
