/** Counts the requests in work that others give way to. */
export interface LightWork {
  /** Counts one more. @returns A function that counts it no longer; it may be called again. */
  begin(): () => void
  isDone(): boolean
  /** Resolves when none is in work, or after this time. */
  whenDone(withinMs: number): Promise<void>
}

export function createLightWork(): LightWork {
  let running = 0
  const waiting = new Set<() => void>()
  return {
    begin() {
      running += 1
      let isCounted = true
      return () => {
        if (!isCounted) return
        isCounted = false
        running -= 1
        if (running === 0) for (const proceed of [...waiting]) proceed()
      }
    },
    isDone: () => running === 0,
    async whenDone(withinMs) {
      if (running === 0) return
      await new Promise<void>((resolve) => {
        const proceed = (): void => {
          waiting.delete(proceed)
          clearTimeout(timer)
          resolve()
        }
        const timer = setTimeout(proceed, withinMs)
        waiting.add(proceed)
      })
    },
  }
}
