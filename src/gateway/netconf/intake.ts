import type { Socket } from 'node:net'
import { Allowance } from '../admission/allowance.ts'

/** With more unsent bytes the device is not reading, and SSH would continue to answer its requests. */
const MAX_UNREAD_BYTES = 1024 * 1024

/**
 * Counts all bytes that a device sends, because SSH itself handles many of its messages: those to ignore, new keys, and
 * requests, each of which it answers. Nothing of that reaches the session.
 */
export class Intake {
  #allowance: Allowance
  #onFlood: () => void

  /** Until the device has proved its key, its connection has its own allowance; it is destroyed when it exceeds it. */
  constructor(socket: Socket, now: () => number) {
    this.#allowance = new Allowance(now())
    this.#onFlood = () => void socket.destroy()
    let isFlooding = false
    socket.on('data', (bytes) => {
      if (isFlooding) return
      this.#allowance.spend({ bytes: bytes.length }, now())
      isFlooding = this.#allowance.isSpent(now()) || socket.writableLength > MAX_UNREAD_BYTES
      if (!isFlooding) return
      // Otherwise a new connection would continue the flood.
      this.#allowance.exhaust(now())
      this.#onFlood()
    })
  }

  /** Counts for the key of the device from now on. */
  countFor(allowance: Allowance, onFlood: () => void): void {
    this.#allowance = allowance
    this.#onFlood = onFlood
  }
}
