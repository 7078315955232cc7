/** Bytes that have arrived and were not taken yet. Adding and taking cost time in proportion to the bytes. */
export class ByteQueue {
  #bytes = Buffer.alloc(0)
  #start = 0
  #end = 0

  get length(): number {
    return this.#end - this.#start
  }

  push(bytes: Buffer): void {
    if (this.#end + bytes.length > this.#bytes.length) this.#makeRoom(bytes.length)
    this.#end += bytes.copy(this.#bytes, this.#end)
  }

  /** Returns where the text begins, at or after `from`; -1: nowhere. */
  indexOf(text: Buffer, from = 0): number {
    return this.view().indexOf(text, from)
  }

  /** The bytes, until the next change of the queue. */
  view(): Buffer {
    return this.#bytes.subarray(this.#start, this.#end)
  }

  /** Removes and returns a copy of the first bytes. */
  take(length: number): Buffer {
    const taken = Buffer.from(this.view().subarray(0, length))
    this.#start += taken.length
    // An idle connection has no buffer.
    if (this.#start === this.#end) {
      this.#bytes = Buffer.alloc(0)
      this.#start = this.#end = 0
    }
    return taken
  }

  #makeRoom(length: number): void {
    const kept = this.view()
    const next = Buffer.allocUnsafeSlow(Math.max(2 * kept.length, kept.length + length))
    kept.copy(next)
    this.#bytes = next
    this.#end = kept.length
    this.#start = 0
  }
}
