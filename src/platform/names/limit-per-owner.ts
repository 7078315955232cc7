export interface Asker {
  readonly owner: string
  /** Aborts waiting; work that already runs continues. */
  readonly signal: AbortSignal
}

interface Places {
  taken: number
  /** In the order of their arrival. */
  readonly waiting: Set<() => void>
}

export type LimitPerOwner = <T>(asker: Asker, work: () => Promise<T>) => Promise<T>

/** Returns a function that runs at most `most` pieces of work of each owner at a time. */
export function limitPerOwner(most: number): LimitPerOwner {
  const owners = new Map<string, Places>()

  async function takePlace(places: Places, signal: AbortSignal): Promise<void> {
    if (places.taken < most) {
      places.taken += 1
      return
    }
    await new Promise<void>((resolve, reject) => {
      const giveUp = (): void => {
        places.waiting.delete(proceed)
        reject(signal.reason)
      }
      const proceed = (): void => {
        signal.removeEventListener('abort', giveUp)
        resolve()
      }
      places.waiting.add(proceed)
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  return async ({ owner, signal }, work) => {
    signal.throwIfAborted()
    const places = owners.get(owner) ?? { taken: 0, waiting: new Set() }
    owners.set(owner, places)
    await takePlace(places, signal)
    try {
      return await work()
    } finally {
      const [next] = places.waiting
      if (next === undefined) places.taken -= 1
      else {
        // The next one takes over the free place.
        places.waiting.delete(next)
        next()
      }
      if (places.taken === 0) owners.delete(owner)
    }
  }
}
