import { once } from 'node:events'
import { type AddressInfo, type Server, connect, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startTestListener } from './websocket-listener.ts'

/** A record has a header of five bytes, of which the last two are the length of the rest. */
const HEADER_BYTES = 5
const APPLICATION_DATA = 23
/** The message fits into 4096 bytes; authentication and type follow it. */
const MAX_BYTES = 4096 + 256

/** Forwards connections to the port, and notes the lengths of the records with data that come from there. */
async function startTap(port: number, lengths: number[]): Promise<Server> {
  const tap = createServer((client) => {
    const server = connect({ host: '127.0.0.1', port })
    let read = Buffer.alloc(0)
    server.on('data', (chunk) => {
      read = Buffer.concat([read, chunk])
      while (read.length >= HEADER_BYTES && read.length >= HEADER_BYTES + read.readUInt16BE(3)) {
        const length = read.readUInt16BE(3)
        if (read[0] === APPLICATION_DATA) lengths.push(length)
        read = read.subarray(HEADER_BYTES + length)
      }
    })
    client.pipe(server).pipe(client)
    for (const socket of [client, server]) socket.on('error', () => socket.destroy())
  })
  await once(tap.listen(0, '127.0.0.1'), 'listening')
  return tap
}

test('a large message to a device is sent in records that need no large buffer', async () => {
  const text = 'x'.repeat(50_000)
  const server = await startTestListener({ onSession: (socket) => socket.send(text) })
  const lengths: number[] = []
  const tap = await startTap(server.port, lengths)
  const device = server.connect((tap.address() as AddressInfo).port)
  onTestFinished(async () => {
    device.terminate()
    tap.close()
    await server.close()
  })
  const [received] = (await once(device, 'message')) as [Buffer]
  expect(received.toString()).toBe(text)
  expect(lengths.length).toBeGreaterThan(text.length / MAX_BYTES)
  expect(Math.max(...lengths)).toBeLessThan(MAX_BYTES)
})
