const FIRST_MS = 20
const LONGEST_MS = 500

/**
 * Returns a function that returns how long to wait before rows that another transaction has locked are tried again: 20 ms
 * at first, and twice as long each time, up to half a second.
 */
export function lockedPauses(): () => number {
  let nextMs = FIRST_MS
  return () => {
    const ms = nextMs
    nextMs = Math.min(2 * ms, LONGEST_MS)
    return ms
  }
}
