import type { Logger } from '../log.ts'

/** The message of the log for a part whose stop takes long. */
export const LATE_STOP = 'has not stopped yet'
/** Longer than the time that requests in flight have to end. */
export const LATE_STOP_MS = 3000

/**
 * Awaits the stop of a part, and logs a warning that names it if that takes longer than LATE_STOP_MS.
 * @param describe Returns what the part waits for at that time.
 */
export async function nameLateStop(
  log: Pick<Logger, 'warn'>,
  part: string,
  stopping: Promise<unknown>,
  describe: () => object = () => ({}),
): Promise<void> {
  const timer = setTimeout(() => log.warn({ part, ...describe() }, LATE_STOP), LATE_STOP_MS)
  try {
    await stopping
  } finally {
    clearTimeout(timer)
  }
}
