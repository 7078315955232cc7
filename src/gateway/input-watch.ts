/**
 * Knows since when input can have waited unread at most. The event loop reads all input between one look of a timer and
 * the next, so what is read now came after the look before the last, however long the loop was held since.
 */
export class InputWatch {
  #lastMs = 0
  #beforeMs = 0

  /** What is read now came after this. */
  get sinceMs(): number {
    return this.#beforeMs
  }

  /** There was nothing to be read before. */
  begin(nowMs: number): void {
    this.#beforeMs = this.#lastMs = nowMs
  }

  look(nowMs: number): void {
    this.#beforeMs = this.#lastMs
    this.#lastMs = nowMs
  }
}
