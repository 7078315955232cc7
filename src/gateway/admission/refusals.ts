/** A connection that the gateway has refused. */
export interface Refusal {
  /** By which it came, as in Protocol. */
  readonly protocol: string
  /** As the counters name it, without `refused_`. */
  readonly why: string
  readonly address: string | null
  /** Where the certificate of the device was read. */
  readonly mac?: string
  readonly detail?: string
}

/** Refusals of one device, or of one address, for the same reason. */
export interface RepeatedRefusal extends Refusal {
  readonly count: number
  /** Epoch milliseconds. */
  readonly firstMs: number
  readonly lastMs: number
}

export interface Refusals {
  add(refusal: Refusal): void
  /** The latest first. */
  list(): readonly RepeatedRefusal[]
}

/** Anybody can connect, so the oldest ones are dropped. */
const MAX_KNOWN = 200

/** Remembers why the latest devices were refused, until the process ends. */
export function createRefusals(nowMs: () => number): Refusals {
  const known = new Map<string, RepeatedRefusal>()
  return {
    add(refusal) {
      const { protocol, why, address, mac } = refusal
      const key = [protocol, why, mac ?? address].join(' ')
      const before = known.get(key)
      const lastMs = nowMs()
      // A map keeps the order of insertion: the oldest is the first.
      known.delete(key)
      known.set(key, { ...refusal, count: (before?.count ?? 0) + 1, firstMs: before?.firstMs ?? lastMs, lastMs })
      const [oldest] = known.keys()
      if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest)
    },
    list: () => [...known.values()].toReversed(),
  }
}
