import { databaseFailure } from '../platform/database/database-failure.ts'

export type FailureLevel = (error: unknown) => 'error' | 'debug'

const QUIET_MS = 10_000

/**
 * Returns the level of the line about a message that could not be handled. While the database fails, that is every message
 * of every device, and their lines could fill the disk, so only one in ten seconds is an error.
 */
export function createFailureLevel(monotonicMs: () => number): FailureLevel {
  let quietUntilMs = -Infinity
  return (error) => {
    if (databaseFailure(error) === undefined) return 'error'
    const nowMs = monotonicMs()
    if (nowMs < quietUntilMs) return 'debug'
    quietUntilMs = nowMs + QUIET_MS
    return 'error'
  }
}
