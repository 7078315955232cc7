/** @param startedMs By `performance.now()`. */
export function secondsSince(startedMs: number): number {
  return Math.round((performance.now() - startedMs) / 100) / 10
}
