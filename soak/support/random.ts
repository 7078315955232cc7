/** Draws pseudo-random numbers that are the same for the same seed. */
export interface Random {
  /** Returns a number from `low` up to `high`, exclusive. */
  between(low: number, high: number): number
  /** Returns a new list of the same items in random order. */
  shuffle<T>(items: readonly T[]): T[]
}

/** @param seed A whole number below 2^32. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  // The mulberry32 generator.
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    between: (low, high) => low + next() * (high - low),
    shuffle: (items) =>
      items
        .map((item) => ({ item, key: next() }))
        .sort((a, b) => a.key - b.key)
        .map(({ item }) => item),
  }
}
