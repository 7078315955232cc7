import { once } from 'node:events'
import { type AddressInfo, type Server, Socket, createServer } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { sharedReads } from './shared-reads.ts'

let server: Server
let accepted: Socket[]
beforeEach(async () => {
  accepted = []
  // Returns what it gets.
  server = createServer({ allowHalfOpen: true }, (socket) => {
    accepted.push(socket.on('error', () => {}))
    socket.pipe(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
})
afterEach(async () => {
  for (const socket of accepted) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
})

async function open(): Promise<Socket> {
  const socket = new Socket({ onread: sharedReads, allowHalfOpen: true })
  await once(socket.connect((server.address() as AddressInfo).port, '127.0.0.1'), 'connect')
  return socket
}

it('gets what arrives on several sockets at a time, complete and until the end', async () => {
  const sockets = await Promise.all(Array.from({ length: 4 }, open))
  const texts = sockets.map((_, index) => String(index).repeat(500_000))
  for (const [index, socket] of sockets.entries()) socket.end(texts[index] ?? '')
  const received = await Promise.all(sockets.map((socket) => buffer(socket)))
  expect(received.map(String)).toEqual(texts)
})

it('keeps what was read before while more arrives', async () => {
  const socket = await open()
  const read = async (text: string): Promise<Buffer> => {
    socket.write(text)
    const [part]: Buffer[] = await once(socket, 'data')
    return part ?? Buffer.alloc(0)
  }
  const first = await read('first')
  expect(String(await read('other'))).toBe('other')
  expect(String(first)).toBe('first')
  socket.destroy()
})

it('stops reading while what has arrived is not consumed', async () => {
  const socket = await open()
  const text = 'x'.repeat(4 * 1024 * 1024)
  socket.end(text)
  await once(socket, 'readable')
  for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  expect(socket.readableLength).toBeLessThan(512 * 1024)
  expect(String(await buffer(socket))).toBe(text)
})
