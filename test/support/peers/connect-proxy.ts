import { createServer } from 'node:http'
import { type AddressInfo, type Socket, connect } from 'node:net'
import type { AtEnd } from '../temporary-dir.ts'

export interface ProxiedServer {
  readonly hosts: readonly string[]
  readonly url: string
}

/**
 * Starts an HTTP proxy on loopback, until `atEnd`. It connects `hosts` at port 443 to the server at `url`, and nothing else.
 * @returns Its address, for `HTTPS_PROXY`.
 */
export async function startConnectProxy({ hosts, url }: ProxiedServer, atEnd: AtEnd): Promise<string> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  const proxy = createServer((_request, response) => response.writeHead(403).end())
  const track = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  }
  proxy.on('connection', track)
  proxy.on('connect', (request, client: Socket, head: Buffer) => {
    if (!hosts.some((host) => request.url === `${host}:443`)) {
      client.end('HTTP/1.1 403 Forbidden\r\n\r\n')
      return
    }
    const upstream = connect(Number(port), hostname, () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n')
      upstream.write(head)
      upstream.pipe(client).pipe(upstream)
    })
    track(upstream)
    upstream.on('error', () => client.destroy())
    client.on('error', () => upstream.destroy())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  atEnd(async () => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}
