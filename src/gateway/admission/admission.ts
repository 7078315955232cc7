import { networkOf } from '../../platform/outbound/network-of.ts'

export interface AdmissionLimits {
  /** The sustained rate of new connections, and the number that may arrive at once. */
  readonly perSecond: number
  readonly burst: number
  /** The number of concurrent handshakes: each costs processor time and memory before the peer has proved anything. */
  readonly handshakes: number
  /** How long a connection waits before it is refused. No more connections wait than the rate admits in that time. */
  readonly waitMs: number
}

export interface AdmissionDecision<T> {
  /** TLS begins on these. Each one occupies a place among the handshakes until `leave` frees it. */
  readonly entered: readonly T[]
  readonly refused: readonly T[]
}

/** The connections from one network (see networkOf). */
interface Network<T> {
  /** Handshakes of this network. */
  underWay: number
  /** Tokens that it has taken, decayed to their value at `atMs`. */
  taken: number
  atMs: number
  /** In the order of arrival. */
  readonly waiting: { readonly connection: T; readonly sinceMs: number }[]
}

/** A network that has taken less than this is dropped from memory. */
const FORGOTTEN = 0.01

/**
 * Decides when TLS begins on new connections. TLS can't keep up with a fleet that retries without jitter, so
 * connections wait for their turn.
 *
 * The network with the fewest recent admissions comes first. So a network with many devices, or with a device that
 * never stops connecting, delays no other network. A network is admitted only while it has fewer handshakes than are
 * still free. When too many connections wait, the network with the most waiting connections loses its newest one.
 */
export class Admission<T> {
  readonly #limits: AdmissionLimits
  readonly #forgetMs: number
  readonly #maxWaiting: number
  readonly #networks = new Map<string, Network<T>>()
  /** The networks that have waiting connections. */
  readonly #queues = new Set<Network<T>>()
  #waiting = 0
  #underWay = 0
  #tokens: number
  #filledAtMs: number | null = null
  #sweptAtMs: number | null = null

  constructor(limits: AdmissionLimits) {
    this.#limits = limits
    this.#forgetMs = (limits.burst / limits.perSecond) * 1000
    this.#maxWaiting = Math.ceil((limits.perSecond * limits.waitMs) / 1000)
    this.#tokens = limits.burst
  }

  /** The number of waiting connections. */
  get waiting(): number {
    return this.#waiting
  }

  /** True while connections wait although the rate would admit one: too many handshakes are under way. */
  get lacksPlaces(): boolean {
    return this.#waiting > 0 && this.#tokens >= 1 && !this.#queues.values().some((network) => this.#hasPlace(network))
  }

  /** Queues the connection; a later call of `decide` admits or refuses it. */
  add(connection: T, address: string, nowMs: number): void {
    const name = networkOf(address)
    const network = this.#networks.get(name) ?? { underWay: 0, taken: 0, atMs: nowMs, waiting: [] }
    network.waiting.push({ connection, sinceMs: nowMs })
    this.#networks.set(name, network)
    this.#queues.add(network)
    this.#waiting += 1
  }

  /**
   * Returns each connection exactly once over all decisions.
   * @param most The number of connections that may enter now; others wait for a later decision.
   */
  decide(nowMs: number, most = Infinity): AdmissionDecision<T> {
    this.#refill(nowMs)
    this.#sweep(nowMs)
    const overdue = this.#takeOverdue(nowMs)
    const entered = this.#takeNext(nowMs, most)
    return { entered, refused: [...overdue, ...this.#takeExcess()] }
  }

  /** Frees the place of a handshake that has ended. */
  leave(address: string): void {
    const network = this.#networks.get(networkOf(address))
    if (network === undefined || network.underWay === 0) return
    this.#underWay -= 1
    network.underWay -= 1
  }

  #refill(nowMs: number): void {
    const { burst, perSecond } = this.#limits
    this.#tokens = Math.min(burst, this.#tokens + (since(this.#filledAtMs ?? nowMs, nowMs) * perSecond) / 1000)
    this.#filledAtMs = nowMs
  }

  #takeOverdue(nowMs: number): T[] {
    const overdue: T[] = []
    for (const network of this.#queues) {
      const isOverdue = ({ sinceMs }: { readonly sinceMs: number }): boolean =>
        since(sinceMs, nowMs) > this.#limits.waitMs
      while (network.waiting[0] !== undefined && isOverdue(network.waiting[0]))
        overdue.push(...this.#take(network, 'first'))
    }
    return overdue
  }

  #takeNext(nowMs: number, most: number): T[] {
    const entered: T[] = []
    while (entered.length < most) {
      const network = this.#findNext(nowMs)
      if (network === undefined) break
      entered.push(...this.#take(network, 'first'))
      this.#tokens -= 1
      this.#underWay += 1
      network.underWay += 1
      network.taken = this.#takenBy(network, nowMs) + 1
      network.atMs = nowMs
    }
    return entered
  }

  #findNext(nowMs: number): Network<T> | undefined {
    if (this.#tokens < 1) return undefined
    let best: Network<T> | undefined
    for (const network of this.#queues) {
      if (!this.#hasPlace(network)) continue
      if (best === undefined || this.#takenBy(network, nowMs) < this.#takenBy(best, nowMs)) best = network
    }
    return best
  }

  #hasPlace({ underWay }: Network<T>): boolean {
    return underWay < this.#limits.handshakes - this.#underWay
  }

  #takeExcess(): T[] {
    const excess: T[] = []
    while (this.#waiting > this.#maxWaiting) {
      const [first, ...others] = this.#queues
      if (first === undefined) break
      const largest = others.reduce((a, b) => (b.waiting.length > a.waiting.length ? b : a), first)
      excess.push(...this.#take(largest, 'last'))
    }
    return excess
  }

  #take(network: Network<T>, end: 'first' | 'last'): T[] {
    const entry = end === 'first' ? network.waiting.shift() : network.waiting.pop()
    if (network.waiting.length === 0) this.#queues.delete(network)
    if (entry === undefined) return []
    this.#waiting -= 1
    return [entry.connection]
  }

  #takenBy({ taken, atMs }: Network<T>, nowMs: number): number {
    return taken * Math.exp(-since(atMs, nowMs) / this.#forgetMs)
  }

  #sweep(nowMs: number): void {
    this.#sweptAtMs ??= nowMs
    if (since(this.#sweptAtMs, nowMs) < this.#forgetMs) return
    this.#sweptAtMs = nowMs
    for (const [name, network] of this.#networks) {
      const isIdle = network.underWay === 0 && network.waiting.length === 0
      if (isIdle && this.#takenBy(network, nowMs) < FORGOTTEN) this.#networks.delete(name)
    }
  }
}

/** If the clock is set back, nothing refills or expires. */
function since(beforeMs: number, nowMs: number): number {
  return Math.max(0, nowMs - beforeMs)
}
