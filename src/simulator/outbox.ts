/** The real client of switches has no limit; ours keeps a large fleet without a gateway from filling the memory. */
export const MAX_UNSENT = 200

/** The messages that wait for a connection, oldest first. Beyond `MAX_UNSENT` new ones are lost. */
export class Outbox {
  #messages: string[] = []

  add(message: string): void {
    if (this.#messages.length < MAX_UNSENT) this.#messages.push(message)
  }

  /** Empties it. */
  take(): readonly string[] {
    const messages = this.#messages
    this.#messages = []
    return messages
  }
}
