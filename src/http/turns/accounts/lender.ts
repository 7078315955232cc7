/** Lends things to accounts, one to each, and never lets an account wait for one. */
export interface Lender<T> {
  /** Returns a free one, unless the account has one already. */
  claim(account: string): Claim<T> | undefined
}

interface Claim<T> {
  readonly value: T
  /** Call it once. */
  readonly release: () => void
}

export function createLender<T>(values: readonly T[]): Lender<T> {
  const free = [...values]
  const holders = new Set<string>()
  return {
    claim(account) {
      if (holders.has(account)) return undefined
      const value = free.pop()
      if (value === undefined) return undefined
      holders.add(account)
      return {
        value,
        release() {
          holders.delete(account)
          free.push(value)
        },
      }
    },
  }
}
