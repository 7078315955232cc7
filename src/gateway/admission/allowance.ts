/** The resources of the gateway that a device has used. */
export interface Cost {
  /** Messages, including pings. */
  readonly frames?: number
  /** Bytes on the wire, plus the bytes that compressed messages inflate to. */
  readonly bytes?: number
  /** Milliseconds for which decoding and reading the result blocked the event loop. */
  readonly decodeMs?: number
}

interface Bucket {
  readonly perSecond: number
  readonly burst: number
}

/**
 * Far above what devices need: an access point sends a state of some 10 KB a minute, at most 500 stored events when it
 * reconnects, and a switch that is being upgraded one event a second.
 */
const buckets: Readonly<Record<keyof Cost, Bucket>> = {
  frames: { perSecond: 100, burst: 1000 },
  bytes: { perSecond: 64 * 1024, burst: 2 * 1024 * 1024 },
  decodeMs: { perSecond: 20, burst: 200 },
}

const kinds = ['frames', 'bytes', 'decodeMs'] as const satisfies readonly (keyof Cost)[]

/** Limits the resources that one device may use, over all of its sessions. */
export class Allowance {
  readonly #left = { frames: buckets.frames.burst, bytes: buckets.bytes.burst, decodeMs: buckets.decodeMs.burst }
  #atMs: number

  constructor(nowMs: number) {
    this.#atMs = nowMs
  }

  /** The cost is known only afterwards, so it may exceed the balance, which then becomes negative. */
  spend(cost: Cost, nowMs: number): void {
    this.#refill(nowMs)
    for (const kind of kinds) this.#left[kind] = Math.max(-buckets[kind].burst, this.#left[kind] - (cost[kind] ?? 0))
  }

  /** Sets the balance to its lowest possible value. */
  exhaust(nowMs: number): void {
    this.#refill(nowMs)
    for (const kind of kinds) this.#left[kind] = -buckets[kind].burst
  }

  /** True while the device has to wait. */
  isSpent(nowMs: number): boolean {
    this.#refill(nowMs)
    return kinds.some((kind) => this.#left[kind] <= 0)
  }

  isFull(nowMs: number): boolean {
    this.#refill(nowMs)
    return kinds.every((kind) => this.#left[kind] >= buckets[kind].burst)
  }

  #refill(nowMs: number): void {
    const seconds = Math.max(0, nowMs - this.#atMs) / 1000
    this.#atMs = Math.max(this.#atMs, nowMs)
    for (const kind of kinds) {
      const { perSecond, burst } = buckets[kind]
      this.#left[kind] = Math.min(burst, this.#left[kind] + seconds * perSecond)
    }
  }
}

/** Covers the TLS handshake and the database rows of a connection. */
const OPENING: Cost = { frames: 50 }

/** The allowances of connected devices, and of disconnected ones until they have refilled. */
export class Allowances {
  readonly #entries = new Map<string, { readonly allowance: Allowance; users: number }>()

  get size(): number {
    return this.#entries.size
  }

  /** Returns the allowance for a new session, which must call `release` when it ends. */
  open(mac: string, nowMs: number): Allowance {
    const entry = this.#entries.get(mac) ?? { allowance: new Allowance(nowMs), users: 0 }
    entry.users += 1
    entry.allowance.spend(OPENING, nowMs)
    this.#entries.set(mac, entry)
    return entry.allowance
  }

  release(mac: string): void {
    const entry = this.#entries.get(mac)
    if (entry !== undefined) entry.users -= 1
  }

  /** True for a device that has used too much and gets no new session. */
  isSpent(mac: string, nowMs: number): boolean {
    return this.#entries.get(mac)?.allowance.isSpent(nowMs) ?? false
  }

  /** Drops the allowances that are full again and that no session uses. */
  sweep(nowMs: number): void {
    for (const [mac, { allowance, users }] of this.#entries)
      if (users === 0 && allowance.isFull(nowMs)) this.#entries.delete(mac)
  }
}
