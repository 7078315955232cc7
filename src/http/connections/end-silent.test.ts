import { once } from 'node:events'
import { type Server, createServer } from 'node:http'
import { type AddressInfo, type Socket, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { nextTurn } from '../../platform/queues/next-turn.ts'
import { endSilentConnections } from './end-silent.ts'

const SILENCE_MS = 50

let server: Server
let port: number
beforeEach(async () => {
  server = createServer({ keepAliveTimeout: SILENCE_MS, keepAliveTimeoutBuffer: 0 }, (request, response) => {
    request.resume().on('end', () => response.end('answer'))
  })
  endSilentConnections(server.setTimeout(SILENCE_MS))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  port = (server.address() as AddressInfo).port
})

async function open(): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  return socket
}

/** The process does not run for a while, as after SIGSTOP, and timers are next when it runs again. */
async function stopProcess(): Promise<void> {
  await nextTurn()
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4 * SILENCE_MS)
}

const request = 'GET / HTTP/1.1\r\nhost: here\r\n\r\n'

it('ends a connection that is silent between requests, in a request and before the first one', async () => {
  const begun = [request, 'POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 5\r\n\r\n12', '']
  const received = await Promise.all(
    begun.map(async (sent) => {
      const socket = await open()
      socket.write(sent)
      return text(socket)
    }),
  )
  expect(received.map((all) => all.includes('answer'))).toEqual([true, false, false])
})

it('answers a request that arrived on an open connection while the process was stopped', async () => {
  const socket = await open()
  socket.write(request)
  await once(socket, 'data')
  socket.write(request)
  await stopProcess()
  expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1\.1 200 /)
})

it('takes the rest of a body that arrived while the process was stopped', async () => {
  const socket = await open()
  socket.write('POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 4\r\n\r\n12')
  await once(server, 'request')
  socket.write('34')
  await stopProcess()
  expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1\.1 200 /)
})
