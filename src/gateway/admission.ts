export interface AdmissionLimits {
  /** Sustained rate of new connections, and how many may come at once. */
  readonly perSecond: number
  readonly burst: number
  /** Handshakes under way at once: each costs processor time and memory before the peer has proved anything. */
  readonly handshakes: number
  /** Of those from one address: a peer that begins handshakes and ends none must not keep all others out. */
  readonly handshakesPerAddress: number
}

/** Decides on new connections before TLS: a fleet that retries without jitter is more than TLS can keep up with. */
export interface Admission {
  /** True takes a token and a place among the handshakes, which `leave` gives back. */
  enter(address: string, nowMs: number): boolean
  leave(address: string): void
}

export function createAdmission({ perSecond, burst, handshakes, handshakesPerAddress }: AdmissionLimits): Admission {
  let tokens = burst
  let filledAtMs: number | null = null
  let underWay = 0
  const byAddress = new Map<string, number>()
  return {
    enter(address, nowMs) {
      // A clock that went back fills nothing.
      const elapsedMs = Math.max(0, nowMs - (filledAtMs ?? nowMs))
      tokens = Math.min(burst, tokens + (elapsedMs * perSecond) / 1000)
      filledAtMs = nowMs
      const own = byAddress.get(address) ?? 0
      if (tokens < 1 || underWay >= handshakes || own >= handshakesPerAddress) return false
      tokens -= 1
      underWay += 1
      byAddress.set(address, own + 1)
      return true
    },
    leave(address) {
      underWay -= 1
      const own = (byAddress.get(address) ?? 1) - 1
      if (own === 0) byAddress.delete(address)
      else byAddress.set(address, own)
    },
  }
}
