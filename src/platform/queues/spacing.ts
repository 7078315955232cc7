export interface SpacingLimits {
  /** The shortest time between the starts of two batches while many items arrive. */
  readonly ms: number
  /** With fewer arrivals, no batch has to wait. */
  readonly arrivalsPerS: number
}

/** For transactions that record what many devices do. */
export const deviceSpacing: SpacingLimits = { ms: 150, arrivalsPerS: 80 }

/** The time over which arrivals are averaged. */
const AVERAGED_MS = 200

/**
 * Decides how long items wait for others. Each transaction costs as much as some twenty of its items, so many arrivals
 * share few transactions; a lone item does not wait. The caller passes monotonic milliseconds.
 */
export class Spacing {
  readonly #limits: SpacingLimits
  /** The number of arrivals, decayed to its value at `atMs`. */
  #arrivals = 0
  #atMs = 0
  #startedMs = -Infinity

  constructor(limits: SpacingLimits) {
    this.#limits = limits
  }

  /** Counts an item that has arrived. */
  add(nowMs: number): void {
    this.#arrivals = this.#arrivalsAt(nowMs) + 1
    this.#atMs = nowMs
  }

  /** Notes the start of a batch. */
  start(nowMs: number): void {
    this.#startedMs = nowMs
  }

  /** Returns how long the next batch has to wait. */
  pauseMs(nowMs: number): number {
    const { ms, arrivalsPerS } = this.#limits
    if (this.#arrivalsAt(nowMs) < (arrivalsPerS * AVERAGED_MS) / 1000) return 0
    return Math.max(0, this.#startedMs + ms - nowMs)
  }

  #arrivalsAt(nowMs: number): number {
    return this.#arrivals * Math.exp((this.#atMs - nowMs) / AVERAGED_MS)
  }
}
