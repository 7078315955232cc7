/** The real switch client has no limit; this one prevents a large offline fleet from filling the memory. */
export const MAX_UNSENT = 200

/** Messages that wait for a connection, oldest first. When it is full, new messages are lost. */
export class Outbox {
  #messages: string[] = []

  add(message: string): void {
    if (this.#messages.length < MAX_UNSENT) this.#messages.push(message)
  }

  /** Returns all messages and empties the outbox. */
  take(): readonly string[] {
    const messages = this.#messages
    this.#messages = []
    return messages
  }
}
