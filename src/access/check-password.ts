import { sha256Hex } from '../platform/secrets.ts'
import type { LoginThrottle } from './login-throttle.ts'
import type { Passwords } from './password.ts'

export interface PasswordAttempt {
  /** In lower case; the account that is tried, whether there is one or not. */
  readonly email: string
  readonly passwordHash: string | null
  readonly password: string
  /** Where the try comes from, for who has not counted that already. */
  readonly srcIp?: string
}

/**
 * Whether the password is right, with the tries of the account and those from the address bounded.
 *
 * @throws AppError rate_limited.
 */
export type CheckPassword = (attempt: PasswordAttempt) => Promise<boolean>

export function createCheckPassword(passwords: Passwords, throttle: LoginThrottle): CheckPassword {
  // A script that starts with many calls at once proves one password, not many.
  const running = new Map<string, Promise<boolean>>()

  /** Who is refused at once is back at once: a refusal takes as long as a check. */
  async function takeFrom(srcIp: string, password: string): Promise<void> {
    try {
      throttle.takeFrom(srcIp)
    } catch (refusal) {
      await passwords.matches(null, password)
      throw refusal
    }
  }

  async function check({ email, passwordHash, password, srcIp }: PasswordAttempt): Promise<boolean> {
    if (srcIp !== undefined) await takeFrom(srcIp, password)
    throttle.take(email)
    const ok = await passwords.matches(passwordHash, password).catch((refusal: unknown) => {
      // Too many wait: nobody has learnt anything, and the owner must not pay for the crowd.
      throttle.giveBack(email)
      throw refusal
    })
    if (!ok) return false
    throttle.succeed(email)
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
