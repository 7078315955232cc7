/** A clock that is set back by less delays messages by no more than that. */
export const MIN_STEP_MS = 30_000

/**
 * Returns a function that returns by how many milliseconds the wall clock was set back since its last call; 0 if it was not,
 * and at the first call. It must be called much more often than the clock needs to drift by MIN_STEP_MS.
 *
 * @param monotonicMs May stand still while the process does not run, which looks like a clock that is set forward.
 */
export function createClockSteps(wallMs: () => number, monotonicMs: () => number): () => number {
  let lastMs: number | null = null
  return () => {
    const offsetMs = wallMs() - monotonicMs()
    const backMs = lastMs === null ? 0 : lastMs - offsetMs
    lastMs = offsetMs
    return backMs < MIN_STEP_MS ? 0 : Math.round(backMs)
  }
}

/**
 * Returns by how many milliseconds the wall clock was set back while the service did not run; 0 if it was not. The time that passed
 * meanwhile hides as much of it.
 * @param lastAt When the service last ran; null if that is not known.
 */
export function setBackMs(lastAt: Date | null, now: Date): number {
  const backMs = lastAt === null ? 0 : lastAt.getTime() - now.getTime()
  return backMs < MIN_STEP_MS ? 0 : backMs
}
