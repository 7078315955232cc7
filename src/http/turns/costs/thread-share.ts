/** What was measured longer ago counts less, with this time constant of busy time. */
const FORGET_MS = 1000
/** Less busy time than this says nothing. */
const MEASURED_MS = 20
/** A thread that gets less than this has other problems. */
const MIN_SHARE = 0.1

interface ThreadShareOptions {
  /** Milliseconds of processor time that this thread has used. */
  readonly cpuMs: () => number
  /** Milliseconds for which its event loop was busy, also while the thread had to wait for a processor. */
  readonly busyMs: () => number
}

/**
 * Returns which share of its busy time the thread has really run lately, from 0.1 to 1. On a machine with other work it
 * is less than 1: even an account that uses all of the thread then uses only this share of a second.
 */
export function createThreadShare({ cpuMs, busyMs }: ThreadShareOptions): () => number {
  let [lastCpuMs, lastBusyMs] = [cpuMs(), busyMs()]
  let [ranMs, wasBusyMs] = [0, 0]
  return () => {
    const passedMs = busyMs() - lastBusyMs
    if (passedMs >= MEASURED_MS) {
      const remembered = Math.exp(-passedMs / FORGET_MS)
      const nowMs = cpuMs()
      ranMs = ranMs * remembered + nowMs - lastCpuMs
      wasBusyMs = wasBusyMs * remembered + passedMs
      lastCpuMs = nowMs
      lastBusyMs += passedMs
    }
    return wasBusyMs === 0 ? 1 : Math.min(Math.max(ranMs / wasBusyMs, MIN_SHARE), 1)
  }
}

/** Milliseconds of processor time that the calling thread has used. */
export function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
