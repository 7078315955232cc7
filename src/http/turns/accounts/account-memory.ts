import { sha256Hex } from '../../../platform/secrets.ts'

/** Credentials whose accounts are remembered; then the oldest are dropped. */
const MAX_KNOWN = 10_000

/**
 * Remembers which account the accepted credentials belong to. This only decides whose turn a request is: the
 * credentials of each request are still checked.
 */
export interface AccountMemory {
  find(credentials: string): string | undefined
  remember(credentials: string, account: string): void
  forget(credentials: string): void
}

export function createAccountMemory(): AccountMemory {
  const accounts = new Map<string, string>()
  return {
    find: (credentials) => accounts.get(sha256Hex(credentials)),
    remember(credentials, account) {
      const [oldest] = accounts.keys()
      if (accounts.size >= MAX_KNOWN && oldest !== undefined) accounts.delete(oldest)
      accounts.set(sha256Hex(credentials), account)
    },
    forget: (credentials) => void accounts.delete(sha256Hex(credentials)),
  }
}
