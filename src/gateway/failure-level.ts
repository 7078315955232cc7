import { databaseFailure } from '../platform/database/database-failure.ts'

type Level = 'error' | 'warn'

export type FailureLevel<L extends Level = 'error'> = (error: unknown) => L | 'debug'

const QUIET_MS = 10_000

/**
 * Returns the level of the line about a message that could not be handled. While the database fails, that is every message
 * of every device, and their lines could fill the disk, so only one in ten seconds is of the level `loud`.
 */
export function createFailureLevel<L extends Level>(
  loud: L,
  monotonicMs: () => number = () => performance.now(),
): FailureLevel<L> {
  let quietUntilMs = -Infinity
  return (error) => {
    if (databaseFailure(error) === undefined) return loud
    const nowMs = monotonicMs()
    if (nowMs < quietUntilMs) return 'debug'
    quietUntilMs = nowMs + QUIET_MS
    return loud
  }
}
