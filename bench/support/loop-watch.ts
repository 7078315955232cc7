/** The resources that a process needs during a measurement. */
export interface Needs {
  /** For how long at most its event loop did nothing else. */
  readonly heldMs: number
  /** The processor time of its longest turn, which other work on the machine does not prolong. */
  readonly heldCpuMs: number
  /** The most resident memory that it had. */
  readonly residentMb: number
}

const LOOK_EVERY_MS = 5
/** Reading the memory takes longer than the rest of a look. */
const MEMORY_EVERY_LOOKS = 10
const BYTES_PER_MB = 1e6

/**
 * Watches this process, or the event loop of this thread in it, until the returned function is called.
 * @param lookEveryMs A look costs some 10 µs; a turn that is shorter may go unseen.
 */
export function watchLoop(lookEveryMs = LOOK_EVERY_MS): () => Needs {
  let [last, lastCpu, heldMs, heldCpuMs, bytes, looks] = [performance.now(), cpuMs(), 0, 0, 0, 0]
  const look = (): void => {
    const now = performance.now()
    heldMs = Math.max(heldMs, now - last)
    last = now
    const cpu = cpuMs()
    heldCpuMs = Math.max(heldCpuMs, cpu - lastCpu)
    lastCpu = cpu
    if (looks % MEMORY_EVERY_LOOKS === 0) bytes = Math.max(bytes, process.memoryUsage.rss())
    looks += 1
  }
  const timer = setInterval(look, lookEveryMs)
  return () => {
    clearInterval(timer)
    look()
    bytes = Math.max(bytes, process.memoryUsage.rss())
    return {
      heldMs: Math.round(heldMs),
      heldCpuMs: Math.round(heldCpuMs),
      residentMb: Math.round(bytes / BYTES_PER_MB),
    }
  }
}

/** The processor time of this thread. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
