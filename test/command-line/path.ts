import { once } from 'node:events'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import { onTestFinished } from 'vitest'

/** A network path to a server whose connections can be broken. */
export interface Path {
  readonly url: string
  breakAll(): void
  /** Refuses all further connections. */
  refuse(isRefusing: boolean): void
  /** Breaks each connection on which such a request is sent; null: none. */
  block(requests: RegExp | null): void
}

export async function startPath(to: string): Promise<Path> {
  const sockets = new Set<Socket>()
  let isRefusing = false
  let blocked: RegExp | null = null
  const path = createServer((client) => {
    if (isRefusing) return void client.destroy()
    const upstream = connect(Number(new URL(to).port), '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (bytes) => {
      if (blocked?.test(bytes.toString('latin1')) === true) client.destroy()
      else upstream.write(bytes)
    })
    client.on('end', () => upstream.end())
    upstream.pipe(client)
  })
  await once(path.listen(0, '127.0.0.1'), 'listening')
  const breakAll = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  onTestFinished(() => {
    breakAll()
    path.close()
  })
  const { port } = path.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    breakAll,
    refuse: (now) => (isRefusing = now),
    block: (requests) => (blocked = requests),
  }
}
