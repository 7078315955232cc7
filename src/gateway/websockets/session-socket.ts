import { WebSocket } from 'ws'
import type { Slices } from '../../platform/queues/slices.ts'

/** The WebSocket of a session. */
export interface SessionSocket extends WebSocket {
  /** True once either side has begun to close it, although our close frame may still wait for its turn. */
  readonly isEnding: boolean
}

export type SessionSocketClass = typeof WebSocket &
  (new (...args: ConstructorParameters<typeof WebSocket>) => SessionSocket)

/**
 * Returns the class of the sockets of a port, which send their close frames by turns. ws also calls close() for the answer to the close
 * frame of a peer, which takes two writes: thousands of devices that stop together would be answered in the same turn of the event loop.
 */
export function closedByTurns(closes: Slices): SessionSocketClass {
  return class extends WebSocket {
    isEnding = false

    override close(code?: number, reason?: string | Buffer): void {
      this.isEnding = true
      closes.run(() => super.close(code, reason))
    }
  }
}
