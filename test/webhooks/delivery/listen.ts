import { once } from 'node:events'
import type { AddressInfo, ListenOptions, Server, Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Starts a server that ends with the test, with all of its connections. @returns Its port. */
export async function listen(server: Server, at: ListenOptions = { host: '127.0.0.1', port: 0 }): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  server.listen(at)
  await once(server, 'listening')
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return (server.address() as AddressInfo).port
}
