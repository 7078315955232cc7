import { sha256Hex } from '../platform/secrets.ts'
import type { LoginThrottle } from './login-throttle.ts'
import type { Passwords } from './password.ts'

export interface PasswordAttempt {
  /** In lower case; the account that is tried, whether there is one or not. */
  readonly email: string
  readonly passwordHash: string | null
  readonly password: string
}

/**
 * Whether the password is right, with the tries of the account bounded.
 *
 * @throws AppError rate_limited.
 */
export type CheckPassword = (attempt: PasswordAttempt) => Promise<boolean>

export function createCheckPassword(passwords: Passwords, throttle: LoginThrottle): CheckPassword {
  // A script that starts with many calls at once proves one password, not many.
  const running = new Map<string, Promise<boolean>>()

  async function check({ email, passwordHash, password }: PasswordAttempt): Promise<boolean> {
    throttle.take(email)
    const ok = await passwords.matches(passwordHash, password)
    if (ok) throttle.succeed(email)
    return ok
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
