import { AppError } from './errors.ts'

export interface ConcurrencyLimit {
  /** How many run at a time. */
  readonly running: number
  /** How many may wait for that, in the order in which they came. */
  readonly waiting: number
  /** What the error says to those that may not even wait. */
  readonly refusal: string
}

/** Runs a piece of work when it is its turn. @throws AppError rate_limited when too many wait already. */
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
