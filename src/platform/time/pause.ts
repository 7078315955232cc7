/** Resolves after `ms`, or as soon as one of the signals aborts. */
export function pause(ms: number, ...signals: readonly AbortSignal[]): Promise<void> {
  if (ms <= 0 || signals.some(({ aborted }) => aborted)) return Promise.resolve()
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      for (const signal of signals) signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    for (const signal of signals) signal.addEventListener('abort', end)
  })
}
