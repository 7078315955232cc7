import { Cutter, type RequestSignal } from '../../platform/outbound/cutter.ts'

/** A request whose result several callers wait for. It is cut when the last of them stops waiting. */
export class SharedRequest<T> {
  readonly #cutter = new Cutter()
  readonly #ended: Promise<T>
  #waiting = 0
  /** False once it has ended or is cut. */
  isRunning = true
  /** Null unless it has ended with a result. */
  result: T | null = null

  /** @param send Called at once. */
  constructor(send: (signal: RequestSignal) => Promise<T>) {
    this.#ended = send(this.#cutter)
      .then((result) => (this.result = result))
      .finally(() => (this.isRunning = false))
  }

  /**
   * Returns the result, or null as soon as the signal of this caller is aborted.
   * @throws Error as the request does.
   */
  wait(signal: RequestSignal): Promise<T | null> {
    return new Promise((resolve, reject) => {
      const listener = {
        handleEvent: () => {
          this.#leave()
          resolve(null)
        },
      }
      this.#waiting += 1
      signal.addEventListener('abort', listener)
      this.#ended.then(resolve, reject).finally(() => signal.removeEventListener('abort', listener))
    })
  }

  #leave(): void {
    this.#waiting -= 1
    if (this.#waiting > 0 || !this.isRunning) return
    this.isRunning = false
    this.#cutter.abort()
  }
}
