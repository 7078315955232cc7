/** Knows whether the server answers. */
export interface Reachability {
  readonly isAway: () => boolean
  /** Notes how a call went. */
  note(answered: boolean): void
  /** @returns A function that ends the subscription. */
  readonly subscribe: (onChange: () => void) => () => void
}

export function createReachability(): Reachability {
  let away = false
  const listeners = new Set<() => void>()
  return {
    isAway: () => away,
    note(answered) {
      if (away !== answered) return
      away = !answered
      for (const listener of listeners) listener()
    },
    subscribe(onChange) {
      listeners.add(onChange)
      return () => listeners.delete(onChange)
    },
  }
}
