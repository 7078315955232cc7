import type { Deadlines } from './deadlines.ts'

export interface TimeLimit {
  readonly deadlines: Deadlines
  readonly ms: number
  /** Aborts the work as well. */
  readonly signal?: AbortSignal
}

/**
 * Calls `work` with a signal that aborts it once it has taken longer than the limit. AbortSignal.timeout() also counts the time in
 * which the process did not run.
 */
export async function withinTime<T>(
  { deadlines, ms, signal }: TimeLimit,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  const reason = new DOMException(`It took longer than ${ms} ms`, 'TimeoutError')
  const deadline = deadlines.add(ms, { expire: () => late.abort(reason) })
  try {
    return await work(signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]))
  } finally {
    deadline.cancel()
  }
}
