import { AppError } from '../errors.ts'
import type { ConcurrencyLimit } from './limit-concurrency.ts'

export interface SharedConcurrencyLimit extends ConcurrencyLimit {
  /** The number of concurrent calls of one holder. */
  readonly perHolder: number
}

/** Runs a piece of work of a holder when its turn comes. @throws AppError rate_limited when too many already wait. */
export type SharedLimited = <T>(holder: string, work: () => Promise<T>) => Promise<T>

interface Holder {
  running: number
  readonly waiting: (() => void)[]
  /** The number of the last call that began; 0 if none has. */
  last: number
}

/**
 * As limitConcurrency(), but no holder has all places. The next place gets the waiting holder that has the fewest, and among
 * these the one that got one the longest ago.
 */
export function shareConcurrency({ running: places, perHolder, ...limit }: SharedConcurrencyLimit): SharedLimited {
  /** Those with calls that run or wait. */
  const holders = new Map<string, Holder>()
  let [running, waiting, begun] = [0, 0, 0]

  function begin(holder: Holder): void {
    running += 1
    begun += 1
    holder.running += 1
    holder.last = begun
  }

  function findNext(): Holder | undefined {
    let next: Holder | undefined
    for (const holder of holders.values()) {
      if (holder.waiting.length === 0 || holder.running >= perHolder) continue
      if (next === undefined || (holder.running - next.running || holder.last - next.last) < 0) next = holder
    }
    return next
  }

  function end(name: string, holder: Holder): void {
    running -= 1
    holder.running -= 1
    if (holder.running + holder.waiting.length === 0) holders.delete(name)
    const next = findNext()
    const resume = next?.waiting.shift()
    if (next === undefined || resume === undefined) return
    waiting -= 1
    begin(next)
    resume()
  }

  return async (name, work) => {
    const holder = holders.get(name) ?? { running: 0, waiting: [], last: 0 }
    if (running >= places || holder.running >= perHolder) {
      if (waiting >= limit.waiting) throw new AppError('rate_limited', limit.refusal)
      waiting += 1
      holders.set(name, holder)
      await new Promise<void>((resolve) => holder.waiting.push(resolve))
    } else {
      holders.set(name, holder)
      begin(holder)
    }
    try {
      return await work()
    } finally {
      end(name, holder)
    }
  }
}
