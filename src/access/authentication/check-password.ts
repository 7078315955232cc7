import { sha256Hex } from '../../platform/secrets.ts'
import type { Guesser, LoginThrottle } from './login-throttle.ts'
import type { Passwords } from './password.ts'

export interface PasswordAttempt {
  /** In lower case; the account that is tried, whether or not it exists. */
  readonly email: string
  readonly passwordHash: string | null
  readonly password: string
  readonly guesser: Guesser
  /** Source address of the attempt, unless the caller has already counted it. */
  readonly srcIp?: string
}

/**
 * Checks a password, with a limit on the attempts for the account and from the address.
 * @throws AppError rate_limited.
 */
export type CheckPassword = (attempt: PasswordAttempt) => Promise<boolean>

export function createCheckPassword(passwords: Passwords, throttle: LoginThrottle): CheckPassword {
  // Equal attempts that run at the same time share one check: a script that starts with many calls costs one hash.
  const running = new Map<string, Promise<boolean>>()

  /** An instant refusal invites an instant retry, so a refusal takes as long as a check. */
  async function takeFrom(srcIp: string, password: string): Promise<void> {
    try {
      throttle.takeFrom(srcIp)
    } catch (refusal) {
      await passwords.matches(null, password)
      throw refusal
    }
  }

  async function check({ email, passwordHash, password, guesser, srcIp }: PasswordAttempt): Promise<boolean> {
    if (srcIp !== undefined) await takeFrom(srcIp, password)
    throttle.takeGuess(email, guesser)
    const ok = await passwords.matches(passwordHash, password).catch((refusal: unknown) => {
      // The queue was full: the attempt taught its sender nothing, so it must not count against the owner.
      throttle.giveBackGuess(email, guesser)
      throw refusal
    })
    if (!ok) return false
    throttle.succeedGuess(email, guesser)
    if (srcIp !== undefined) throttle.giveBackTo(srcIp)
    return true
  }

  return async (attempt) => {
    const { email, passwordHash, password } = attempt
    if (passwords.remembers(passwordHash, password)) return true
    const key = sha256Hex(JSON.stringify([email, passwordHash, password]))
    const known = running.get(key)
    if (known !== undefined) return known
    const checking = check(attempt).finally(() => running.delete(key))
    running.set(key, checking)
    return checking
  }
}
