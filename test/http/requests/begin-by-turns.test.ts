import { once } from 'node:events'
import { type RequestListener, createServer } from 'node:http'
import { type AddressInfo, type Socket, connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, expect, it, onTestFinished } from 'vitest'
import { beginByTurns } from '../../../src/http/connections/begin-by-turns.ts'
import { createHttpServer } from '../../../src/http/server.ts'
import { closeHttp } from '../../../src/http/turns/completion/finish-operations.ts'
import { createLog } from '../../../src/platform/log.ts'

let close: () => unknown = () => {}
afterEach(() => close())

/** Starts a server that begins requests by turns. @returns Connects a client to it. */
async function serve(begin: RequestListener, onRequest: () => void = () => {}): Promise<() => Promise<Socket>> {
  const { listener } = beginByTurns(begin)
  const server = createServer((request, response) => {
    onRequest()
    listener(request, response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  close = () => {
    server.close()
    server.closeAllConnections()
  }
  return () => connectTo(port)
}

async function connectTo(port: number): Promise<Socket> {
  const client = connect(port, '127.0.0.1')
  onTestFinished(() => void client.destroy())
  await once(client, 'connect')
  return client
}

const REQUESTS = 3000
const requestOf = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`

/** A beginning that takes this much of a turn. */
function takeMs(ms: number): void {
  const endMs = performance.now() + ms
  while (performance.now() < endMs);
}

it('lets a connection that sends more requests than begin not fill the memory', async () => {
  let arrived = 0
  let begun = 0
  let most = 0
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const open = await serve(
    (_, response) => {
      begun += 1
      takeMs(0.05)
      response.end()
      if (begun === REQUESTS) resolve()
    },
    () => {
      arrived += 1
      most = Math.max(most, arrived - begun)
    },
  )
  const client = await open()
  client.resume()
  client.write(requestOf('/').repeat(REQUESTS))
  await ended
  expect(most).toBeLessThanOrEqual(2001)
})

it('begins no request whose client has left', async () => {
  const begun: unknown[] = []
  const open = await serve((request, response) => {
    begun.push(request.url)
    takeMs(20)
    request.socket.destroy()
    response.end()
  })
  const client = await open()
  client.on('error', () => {}).write(requestOf('/').repeat(3))
  await once(client, 'close')
  await nextTurn()
  expect(begun).toEqual(['/'])
})

it('begins the requests of connections in turn, however many one of them sends', async () => {
  const begun: unknown[] = []
  const open = await serve((request, response) => {
    begun.push(request.url)
    takeMs(20)
    response.end()
  })
  const [many, one] = [await open(), await open()]
  many.resume()
  many.write(requestOf('/many').repeat(20))
  one.write(requestOf('/one'))
  await once(one, 'data')
  expect(begun.indexOf('/one')).toBeLessThan(10)
})

it('begins what waits when the server stops', async () => {
  const http = await createHttpServer({ log: createLog('silent'), tls: null })
  // A handler would run after the beginning.
  http.addHook('onRequest', (_request, _reply, done) => {
    takeMs(20)
    done()
  })
  http.get('/', () => 'done')
  await http.listen({ host: '127.0.0.1', port: 0 })
  const { port } = http.server.address() as AddressInfo
  const clients = await Promise.all(Array.from({ length: 5 }, () => connectTo(port)))
  const askAll = () =>
    Promise.all(
      clients.map((client) => {
        client.write(requestOf('/'))
        return once(client, 'data')
      }),
    )
  // From then on the server has all of them, and reads what they send in one turn.
  await askAll()
  let arrived = 0
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>()
  http.server.on('request', () => {
    arrived += 1
    if (arrived === clients.length) stop(closeHttp(http, 10_000))
  })
  for (const answer of await askAll()) expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /)
  await stopped
})
