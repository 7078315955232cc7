import type { ResolvedAddress } from './hosts.ts'

/** Remembers which addresses of a name could not be connected to while another one could. */
export interface FailedAddresses {
  add(name: string, addresses: readonly string[]): void
  /** Returns the addresses of a name with those last that have failed. */
  putLast(name: string, addresses: readonly ResolvedAddress[]): readonly ResolvedAddress[]
}

/** Answers of name servers may be kept for less: a short TTL must not cause many slow connections. */
const KEPT_MS = 300_000
const MAX_NAMES = 5000
const MAX_ADDRESSES = 64

export function createFailedAddresses(nowMs: () => number): FailedAddresses {
  /** Until when each address comes last. */
  const names = new Map<string, ReadonlyMap<string, number>>()

  function find(name: string): (readonly [address: string, untilMs: number])[] {
    const now = nowMs()
    return [...(names.get(name) ?? [])].filter(([, untilMs]) => now < untilMs)
  }

  return {
    add(name, addresses) {
      const untilMs = nowMs() + KEPT_MS
      const all = new Map([...find(name), ...addresses.map((address) => [address, untilMs] as const)])
      const [oldest] = names.keys()
      names.delete(name)
      if (names.size >= MAX_NAMES && oldest !== undefined) names.delete(oldest)
      names.set(name, new Map([...all].slice(-MAX_ADDRESSES)))
    },
    putLast(name, addresses) {
      if (!names.has(name)) return addresses
      const failed = new Set(find(name).map(([address]) => address))
      const hasFailed = ({ address }: ResolvedAddress): boolean => failed.has(address)
      return [...addresses.filter((one) => !hasFailed(one)), ...addresses.filter(hasFailed)]
    },
  }
}
