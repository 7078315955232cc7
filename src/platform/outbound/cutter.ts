/** Gets the abort of a signal. An object, because a function would have to be made for each request. */
export interface AbortListener {
  handleEvent(): void
}

/** The part of an AbortSignal that a request uses. */
export interface RequestSignal {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: AbortListener): void
  removeEventListener(type: 'abort', listener: AbortListener): void
}

const none: readonly AbortListener[] = []

/**
 * Ends one request. An AbortController for each of thousands of requests per second costs more than encoding them, because
 * the garbage collector follows each one separately.
 */
export class Cutter implements RequestSignal {
  #listeners = none
  aborted = false

  abort(): void {
    if (this.aborted) return
    this.aborted = true
    const listeners = this.#listeners
    this.#listeners = none
    for (const listener of listeners) listener.handleEvent()
  }

  addEventListener(_type: 'abort', listener: AbortListener): void {
    // A request has a single one at a time.
    this.#listeners = this.#listeners === none ? [listener] : [...this.#listeners, listener]
  }

  removeEventListener(_type: 'abort', listener: AbortListener): void {
    const [first] = this.#listeners
    const isOnly = first === listener && this.#listeners.length === 1
    this.#listeners = isOnly ? none : this.#listeners.filter((each) => each !== listener)
  }
}
