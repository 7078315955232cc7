import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import { limitConcurrency } from '../platform/limit-concurrency.ts'
import { createShortMemory } from './short-memory.ts'

/** argon2id (the library's default), 19 MiB, two passes, one lane: the second profile of RFC 9106's advice as OWASP scales it. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** Hashing is the one request cost an unknown caller can cause: it leaves a core to the others, where there are several. */
const hashing = {
  running: Math.max(1, Math.min(2, availableParallelism() - 1)),
  waiting: 100,
  refusal: 'Too Many Request. Too many logins at once.',
}

export interface Passwords {
  hash(password: string): Promise<string>
  /** False for a null hash too, after the same work: the time does not tell whether there is an account. */
  matches(passwordHash: string | null, password: string): Promise<boolean>
  /** Whether matches() has said yes to the same a moment ago, and will again at once. */
  remembers(passwordHash: string | null, password: string): boolean
}

/** Compatibility forms of a character are one password (NFKC), whatever keyboard typed it. */
const normal = (password: string): string => password.normalize('NFKC')

export function createPasswords(): Passwords {
  const limited = limitConcurrency(hashing)
  // Basic authentication proves the same password with every request.
  const right = createShortMemory()
  // Verifying against this costs what verifying against a real one costs.
  const dummyHash = hash(randomBytes(16).toString('hex'), cost)

  const memoOf = (passwordHash: string, password: string): string => `${passwordHash}\n${normal(password)}`

  return {
    hash: (password) => limited(() => hash(normal(password), cost)),
    remembers: (passwordHash, password) => passwordHash !== null && right.remembers(memoOf(passwordHash, password)),
    async matches(passwordHash, password) {
      if (passwordHash !== null && right.remembers(memoOf(passwordHash, password))) return true
      const ok = await limited(async () => verify(passwordHash ?? (await dummyHash), normal(password)))
      if (!ok || passwordHash === null) return false
      right.remember(memoOf(passwordHash, password))
      return true
    },
  }
}

/** Whether the hash was made with other parameters than today's: the next login can make a better one. */
export function isOutdatedHash(passwordHash: string): boolean {
  const today = `m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}`
  return !passwordHash.startsWith(`$argon2id$v=19$${today}$`)
}
