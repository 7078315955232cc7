import { AppError } from '../errors.ts'
import type { ConcurrencyLimit } from './limit-concurrency.ts'

export interface SharedConcurrencyLimit extends ConcurrencyLimit {
  /** The number of concurrent calls of one holder. */
  readonly perHolder: number
}

/** The one that a piece of work belongs to. */
export interface Share {
  readonly holder: string
  /** The object that it locks. Only one piece of work at a time has it, because others would wait for it in their places. */
  readonly lock: string | null
}

/** Runs a piece of work when its turn comes. @throws AppError rate_limited when too many already wait. */
export type SharedLimited = <T>(share: Share, work: () => Promise<T>) => Promise<T>

interface Waiting {
  readonly lock: string | null
  readonly resume: () => void
}

interface Holder {
  running: number
  readonly waiting: Waiting[]
  /** The number of the last call that began; 0 if none has. */
  last: number
}

/**
 * Does the same as limitConcurrency(), but no holder has all places, and no work waits in one for the lock of another. The next place gets
 * the waiting holder that has the fewest, and among these the one that got one the longest ago.
 */
export function shareConcurrency({ running: places, perHolder, ...limit }: SharedConcurrencyLimit): SharedLimited {
  /** Those with calls that run or wait. */
  const holders = new Map<string, Holder>()
  /** The locks of those that run. */
  const locks = new Set<string>()
  let [running, waiting, begun] = [0, 0, 0]

  const isFree = (lock: string | null): boolean => lock === null || !locks.has(lock)

  function begin(holder: Holder, lock: string | null): void {
    running += 1
    begun += 1
    holder.running += 1
    holder.last = begun
    if (lock !== null) locks.add(lock)
  }

  function findNext(): { readonly holder: Holder; readonly call: Waiting } | undefined {
    if (running >= places) return undefined
    let next: { readonly holder: Holder; readonly call: Waiting } | undefined
    for (const holder of holders.values()) {
      const call = holder.running < perHolder ? holder.waiting.find(({ lock }) => isFree(lock)) : undefined
      if (call === undefined) continue
      const isFirst = next === undefined || (holder.running - next.holder.running || holder.last - next.holder.last) < 0
      if (isFirst) next = { holder, call }
    }
    return next
  }

  function end({ holder: name, lock }: Share, holder: Holder): void {
    running -= 1
    holder.running -= 1
    if (lock !== null) locks.delete(lock)
    if (holder.running + holder.waiting.length === 0) holders.delete(name)
    // The place may let one begin, and the lock another one.
    for (let next = findNext(); next !== undefined; next = findNext()) {
      next.holder.waiting.splice(next.holder.waiting.indexOf(next.call), 1)
      waiting -= 1
      begin(next.holder, next.call.lock)
      next.call.resume()
    }
  }

  return async (share, work) => {
    const { holder: name, lock } = share
    const holder = holders.get(name) ?? { running: 0, waiting: [], last: 0 }
    if (running >= places || holder.running >= perHolder || !isFree(lock)) {
      if (waiting >= limit.waiting) throw new AppError('rate_limited', limit.refusal)
      waiting += 1
      holders.set(name, holder)
      await new Promise<void>((resume) => holder.waiting.push({ lock, resume }))
    } else {
      holders.set(name, holder)
      begin(holder, lock)
    }
    try {
      return await work()
    } finally {
      end(share, holder)
    }
  }
}
