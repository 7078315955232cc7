import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import { limitConcurrency } from '../../platform/queues/limit-concurrency.ts'
import { createShortMemory } from './short-memory.ts'

/** argon2id (the library's default), 19 MiB, two passes, one lane: the second profile of RFC 9106's advice as OWASP scales it. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
const parameters = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$`

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '')

/** The hash of no known password: verifying against it takes as long as against another one. */
const NO_HASH = `${parameters}${unpadded(randomBytes(16))}$${unpadded(randomBytes(32))}`

/**
 * Hashing is the only expensive work that an unknown caller can cause: it leaves one core free if there are several.
 */
const hashing = {
  running: Math.max(1, Math.min(2, availableParallelism() - 1)),
  waiting: 100,
  refusal: 'Too Many Request. Too many logins at once.',
}

export interface Passwords {
  hash(password: string): Promise<string>
  /** False for a null hash too, after the same work, so that the time does not reveal whether the account exists. */
  matches(passwordHash: string | null, password: string): Promise<boolean>
  /** True if matches() accepted the same pair a moment ago and would still accept it. */
  remembers(passwordHash: string | null, password: string): boolean
}

/** Compatibility forms of a character count as one (NFKC), so that the keyboard does not matter. */
const normal = (password: string): string => password.normalize('NFKC')

/** @param verifyHash Verifies a password against a hash, for tests that remember the results. */
export function createPasswords(verifyHash: (hash: string, password: string) => Promise<boolean> = verify): Passwords {
  const limited = limitConcurrency(hashing)
  // Basic authentication sends the same password with every request.
  const right = createShortMemory()
  const memoOf = (passwordHash: string, password: string): string => `${passwordHash}\n${normal(password)}`

  return {
    hash: (password) => limited(() => hash(normal(password), cost)),
    remembers: (passwordHash, password) => passwordHash !== null && right.remembers(memoOf(passwordHash, password)),
    async matches(passwordHash, password) {
      if (passwordHash !== null && right.remembers(memoOf(passwordHash, password))) return true
      const ok = await limited(() => verifyHash(passwordHash ?? NO_HASH, normal(password)))
      if (!ok || passwordHash === null) return false
      right.remember(memoOf(passwordHash, password))
      return true
    },
  }
}

/** True if the hash was made with other parameters than today's, so that the next login can replace it. */
export function isOutdatedHash(passwordHash: string): boolean {
  return !passwordHash.startsWith(parameters)
}
