import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A customer's server that decides whether upgrades go on. */
export interface CheckServer {
  readonly url: string
  /** The bodies of the calls. */
  readonly asked: readonly unknown[]
  /** The answer from now on; at first `open` is true. */
  reply: { readonly status: number; readonly body: unknown }
  close(): Promise<void>
}

export async function startCheckServer(): Promise<CheckServer> {
  const asked: unknown[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      asked.push(JSON.parse(Buffer.concat(parts).toString('utf8')))
      const { status, body } = checks.reply
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const checks: CheckServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/check`,
    asked,
    reply: { status: 200, body: { open: true } },
    async close() {
      await new Promise((resolve) => {
        server.close(resolve)
      })
    },
  }
  return checks
}
