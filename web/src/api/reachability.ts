/** Knows whether the server answers at all. */
export interface Reachability {
  readonly isAway: () => boolean
  /**
   * Notes that a call had no answer, or one of a proxy for the server. That may have been due to this call alone, such as one that
   * takes longer than the proxy waits, so the server is asked.
   */
  suspect(): void
  /** @returns A function that ends the subscription. */
  readonly subscribe: (onChange: () => void) => () => void
}

interface ReachabilityParts {
  /** Asks the server for something that costs little. @returns True if it answers. */
  readonly probe: () => Promise<boolean>
  readonly schedule: (run: () => void, ms: number) => void
}

const PROBE_MS = 2000

export function createReachability({ probe, schedule }: ReachabilityParts): Reachability {
  let isAway = false
  let isAsking = false
  const listeners = new Set<() => void>()

  async function ask(): Promise<void> {
    const isBack = await probe()
    isAsking = !isBack
    if (!isBack) schedule(() => void ask(), PROBE_MS)
    if (isAway !== isBack) return
    isAway = !isBack
    for (const listener of listeners) listener()
  }

  return {
    isAway: () => isAway,
    suspect() {
      if (isAsking) return
      isAsking = true
      void ask()
    },
    subscribe(onChange) {
      listeners.add(onChange)
      return () => listeners.delete(onChange)
    },
  }
}
