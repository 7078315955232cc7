import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { waitUntil } from '../../../support/wait-until.ts'
import { startSlowServer } from './slow-server.ts'

it('closes the oldest connection of the account with most unread bytes if there are too many, and serves others', async () => {
  const { port, call } = await startSlowServer({ maxUnreadBytes: 40 * 1024 * 1024 })
  const closed: string[] = []
  const ask = async (name: string, account: string, path: string): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => undefined)
    socket.write(`GET /api/v1${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Token ${account}\r\n\r\n`)
    await once(socket, 'readable')
    // Nothing notices that a connection is closed before what it has received is read.
    void once(socket, 'close').then(() => closed.push(name))
    return socket
  }
  const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()]
  const oldest = await ask('first', first, '/huge')
  await ask('second', second, '/huge')
  const newest = await ask('third', third, '/huge')
  oldest.resume()
  await once(oldest, 'close')
  expect((await call(first, '/quick')).status).toBe(200)
  expect(closed).toEqual(['first'])
  // A client that reads gets its whole answer.
  let bytes = 0
  newest.on('data', (part: Buffer) => (bytes += part.length))
  await waitUntil('the whole answer', () => Promise.resolve(bytes > 16 * 1024 * 1024))
  expect(closed).toEqual(['first'])
})
