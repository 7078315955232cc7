/** The part of an AbortSignal that a request uses. */
export interface RequestSignal {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/**
 * Ends one request. An AbortController for each of thousands of requests per second costs more than encoding them, because
 * the garbage collector follows each one separately.
 */
export class Cutter implements RequestSignal {
  #listeners: readonly (() => void)[] = []
  aborted = false

  abort(): void {
    if (this.aborted) return
    this.aborted = true
    for (const listener of this.#listeners) listener()
    this.#listeners = []
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners = [...this.#listeners, listener]
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners = this.#listeners.filter((each) => each !== listener)
  }
}
