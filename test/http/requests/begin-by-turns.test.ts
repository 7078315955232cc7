import { once } from 'node:events'
import { type RequestListener, createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { beginByTurns } from '../../../src/http/connections/begin-by-turns.ts'

let close = () => {}
afterEach(() => close())

/** Connects to a server that begins requests by turns. */
async function connectTo(begin: RequestListener, onRequest: () => void = () => {}) {
  const listener = beginByTurns(begin)
  const server = createServer((request, response) => {
    onRequest()
    listener(request, response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const client = connect(port, '127.0.0.1')
  close = () => {
    client.destroy()
    server.close()
    server.closeAllConnections()
  }
  await once(client, 'connect')
  return client
}

const REQUESTS = 3000
const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

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
  const client = await connectTo(
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
  client.resume()
  client.write(REQUEST.repeat(REQUESTS))
  await ended
  expect(most).toBeLessThanOrEqual(2001)
})

it('begins no request whose client has left', async () => {
  const begun: unknown[] = []
  const client = await connectTo((request, response) => {
    begun.push(request.url)
    takeMs(20)
    request.socket.destroy()
    response.end()
  })
  client.on('error', () => {}).write(REQUEST.repeat(3))
  await once(client, 'close')
  await nextTurn()
  expect(begun).toEqual(['/'])
})
