import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import { onTestFinished } from 'vitest'

/** A way to a server that may stop forwarding: its connections stay open, and nothing arrives any more. */
export interface Route {
  readonly url: string
  drop(): void
  /** Forwards everything that has waited. */
  restore(): void
}

/** Opens a way to the server at `url` until the test ends. */
export async function openRoute(url: string): Promise<Route> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let isDropped = false
  const add = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
  }
  const router = createServer((client) => {
    const server = connect(Number(port), hostname)
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      add(from)
      from.on('data', (data) => to.write(data))
      from.on('end', () => to.end())
      from.on('close', () => to.destroy())
      if (isDropped) from.pause()
    }
  })
  await new Promise<void>((resolve) => router.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    router.close()
  })
  return {
    url: `http://127.0.0.1:${(router.address() as AddressInfo).port}`,
    drop() {
      isDropped = true
      for (const socket of sockets) socket.pause()
    },
    restore() {
      isDropped = false
      for (const socket of sockets) socket.resume()
    },
  }
}
