import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Ends connections whose time limit for silence is over. Timers run before sockets are read: after the process was stopped, what has
 * arrived in the meantime counts by the end of this turn of the event loop.
 */
export function endSilentConnections(server: Server): void {
  server.on('timeout', (socket: Socket) => {
    const before = progressOf(socket)
    setImmediate(() => {
      if (progressOf(socket) === before) socket.destroy()
    })
  })
}

function progressOf({ bytesRead, bytesWritten, writableLength }: Socket): string {
  return `${bytesRead} ${bytesWritten} ${writableLength}`
}
