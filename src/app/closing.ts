/** The started parts, to be stopped in the opposite order. */
export interface Closing {
  /** Registers how to stop a part that has just been started. */
  add(name: string, stop: () => Promise<void> | void): void
  /** Stops everything, newest first. A part that fails to stop does not prevent the others from stopping. */
  close(onError: (name: string, error: unknown) => void): Promise<void>
}

export function createClosing(): Closing {
  const started: { name: string; stop: () => Promise<void> | void }[] = []
  return {
    add: (name, stop) => {
      started.push({ name, stop })
    },
    async close(onError) {
      for (let last = started.pop(); last !== undefined; last = started.pop()) {
        try {
          await last.stop()
        } catch (error) {
          onError(last.name, error)
        }
      }
    },
  }
}
