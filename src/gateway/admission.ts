import { networkOf } from '../platform/network-of.ts'

export interface AdmissionLimits {
  /** Sustained rate of new connections, and how many may come at once. */
  readonly perSecond: number
  readonly burst: number
  /** Handshakes under way at once: each costs processor time and memory before the peer has proved anything. */
  readonly handshakes: number
}

/**
 * Decides on new connections before TLS: a fleet that retries without jitter is more than TLS can keep up with.
 *
 * A network (see networkOf) gets in while it holds less than what is left for all, of tokens and of places alike. So
 * one that takes all it can leaves half, two leave a third, and there is something left for those who come now and
 * then; yet one that is alone gets nearly the whole rate, as what it has taken is forgotten as fast as tokens come.
 */
export interface Admission {
  /** True takes a token and a place among the handshakes, which `leave` gives back. */
  enter(address: string, nowMs: number): boolean
  leave(address: string): void
}

interface Network {
  /** Its handshakes. */
  readonly underWay: number
  /** Tokens that it has taken, as far as they are not forgotten at `atMs`. */
  readonly taken: number
  readonly atMs: number
}

/** So little is no longer worth remembering. */
const FORGOTTEN = 0.01

export function createAdmission({ perSecond, burst, handshakes }: AdmissionLimits): Admission {
  const forgetMs = (burst / perSecond) * 1000
  const networks = new Map<string, Network>()
  let tokens = burst
  let underWay = 0
  let filledAtMs: number | null = null
  let sweptAtMs: number | null = null

  // A clock that went back fills and forgets nothing.
  const since = (beforeMs: number, nowMs: number): number => Math.max(0, nowMs - beforeMs)
  const takenBy = ({ taken, atMs }: Network, nowMs: number): number => taken * Math.exp(-since(atMs, nowMs) / forgetMs)

  function sweep(nowMs: number): void {
    sweptAtMs ??= nowMs
    if (since(sweptAtMs, nowMs) < forgetMs) return
    sweptAtMs = nowMs
    for (const [name, network] of networks)
      if (network.underWay === 0 && takenBy(network, nowMs) < FORGOTTEN) networks.delete(name)
  }

  return {
    enter(address, nowMs) {
      tokens = Math.min(burst, tokens + (since(filledAtMs ?? nowMs, nowMs) * perSecond) / 1000)
      filledAtMs = nowMs
      sweep(nowMs)
      const name = networkOf(address)
      const own = networks.get(name) ?? { underWay: 0, taken: 0, atMs: nowMs }
      const taken = takenBy(own, nowMs)
      if (tokens < 1 || taken >= tokens || own.underWay >= handshakes - underWay) return false
      tokens -= 1
      underWay += 1
      networks.set(name, { underWay: own.underWay + 1, taken: taken + 1, atMs: nowMs })
      return true
    },
    leave(address) {
      const name = networkOf(address)
      const own = networks.get(name)
      if (own === undefined) return
      underWay -= 1
      networks.set(name, { ...own, underWay: own.underWay - 1 })
    },
  }
}
