export interface AdmissionLimits {
  /** Sustained rate of new connections, and how many may come at once. */
  readonly perSecond: number
  readonly burst: number
  /** Handshakes under way at once: each costs processor time and memory before the peer has proved anything. */
  readonly handshakes: number
}

/** Decides on new connections before TLS: a fleet that retries without jitter is more than TLS can keep up with. */
export interface Admission {
  /** True takes a token and a place among the handshakes, which `leave` gives back. */
  enter(nowMs: number): boolean
  leave(): void
}

export function createAdmission({ perSecond, burst, handshakes }: AdmissionLimits): Admission {
  let tokens = burst
  let filledAtMs: number | null = null
  let underWay = 0
  return {
    enter(nowMs) {
      // A clock that went back fills nothing.
      const elapsedMs = Math.max(0, nowMs - (filledAtMs ?? nowMs))
      tokens = Math.min(burst, tokens + (elapsedMs * perSecond) / 1000)
      filledAtMs = nowMs
      if (tokens < 1 || underWay >= handshakes) return false
      tokens -= 1
      underWay += 1
      return true
    },
    leave() {
      underWay -= 1
    },
  }
}
