/** What a device takes of the gateway. */
export interface Cost {
  /** Messages, pings among them. */
  readonly frames?: number
  /** On the wire, and what compressed ones become. */
  readonly bytes?: number
  /** Milliseconds in which nothing else was done. */
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

/** What one device may take of the gateway, whichever of its sessions does. */
export class Allowance {
  readonly #left = { frames: buckets.frames.burst, bytes: buckets.bytes.burst, decodeMs: buckets.decodeMs.burst }
  #atMs: number

  constructor(nowMs: number) {
    this.#atMs = nowMs
  }

  /** What it costs is known after the fact, so it may be more than is left: then it is owed. */
  spend(cost: Cost, nowMs: number): void {
    this.#refill(nowMs)
    for (const kind of kinds) this.#left[kind] = Math.max(-buckets[kind].burst, this.#left[kind] - (cost[kind] ?? 0))
  }

  /** Leaves as much owed as can be. */
  exhaust(nowMs: number): void {
    this.#refill(nowMs)
    for (const kind of kinds) this.#left[kind] = -buckets[kind].burst
  }

  /** The device has to wait. */
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

/** TLS and the records of a connection. */
const OPENING: Cost = { frames: 50 }

/** The allowances of the devices that are connected, and of those that went with less than all of theirs. */
export class Allowances {
  readonly #entries = new Map<string, { readonly allowance: Allowance; users: number }>()

  get size(): number {
    return this.#entries.size
  }

  /** For a new session, which gives it back by `release`. */
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

  /** A device that has taken too much: it gets no new session. */
  isSpent(mac: string, nowMs: number): boolean {
    return this.#entries.get(mac)?.allowance.isSpent(nowMs) ?? false
  }

  /** Forgets those that are no different from new ones. */
  sweep(nowMs: number): void {
    for (const [mac, { allowance, users }] of this.#entries)
      if (users === 0 && allowance.isFull(nowMs)) this.#entries.delete(mac)
  }
}
