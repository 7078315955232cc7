import { AppError } from '../errors.ts'

export interface ConcurrencyLimit {
  /** The number of concurrent calls. */
  readonly running: number
  /** The number of calls that may wait, in the order of their arrival. */
  readonly waiting: number
  /** The text of the error for callers beyond that. */
  readonly refusal: string
}

/** Runs a piece of work when its turn comes. @throws AppError rate_limited when too many already wait. */
export type Limited = <T>(work: () => Promise<T>) => Promise<T>

export function limitConcurrency(limit: ConcurrencyLimit): Limited {
  let running = 0
  const waiting: (() => void)[] = []
  return async (work) => {
    if (running >= limit.running) {
      if (waiting.length >= limit.waiting) throw new AppError('rate_limited', limit.refusal)
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else running += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}
