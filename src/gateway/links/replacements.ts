/** Replacements within the window from which a device counts as one of several with the same certificate. */
const SUSPICIOUS = 10
const WINDOW_MS = 5 * 60_000
/** Bounds the memory: devices replace themselves rarely, so more of them are no case that counts. */
const MAX_DEVICES = 10_000

export interface Replacements {
  /** Counts a link that a newer one of the same device replaces while it is open. @returns True on suspicion. */
  add(deviceId: string): boolean
}

/**
 * Detects devices that share a certificate: each reconnects every few seconds, when another one has replaced it. A
 * single device whose connections break replaces itself, too, but pauses longer each time.
 */
export function watchReplacements(now: () => number): Replacements {
  const windows = new Map<string, { startMs: number; count: number }>()
  return {
    add(deviceId) {
      const nowMs = now()
      const open = windows.get(deviceId)
      if (open === undefined || nowMs - open.startMs > WINDOW_MS) {
        windows.delete(deviceId)
        const [oldest] = windows.keys()
        if (oldest !== undefined && windows.size >= MAX_DEVICES) windows.delete(oldest)
        windows.set(deviceId, { startMs: nowMs, count: 1 })
        return false
      }
      open.count += 1
      return open.count === SUSPICIOUS
    },
  }
}
