/**
 * Bounds how long input may have waited unread. The event loop reads all input between two calls of `look`, so input that
 * is read now arrived after the call before the last, however long the loop has been blocked since.
 */
export class InputWatch {
  #lastMs = 0
  #beforeMs = 0

  /** Input that is read now arrived after this time. */
  get sinceMs(): number {
    return this.#beforeMs
  }

  /** Starts the watch; no input arrived before. */
  begin(nowMs: number): void {
    this.#beforeMs = this.#lastMs = nowMs
  }

  look(nowMs: number): void {
    this.#beforeMs = this.#lastMs
    this.#lastMs = nowMs
  }
}
