import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'

/** A record has a header of five bytes, of which the last two are the length of the rest. */
const HEADER_BYTES = 5
const APPLICATION_DATA = 23

/** One direction of the connections of a tap. */
export type Direction = 'to_server' | 'to_client'

/** A place between TLS clients and a server. */
export interface TlsTap {
  readonly port: number
  /** The lengths of the records with data that went in the direction. */
  readonly lengths: readonly number[]
  close(): void
}

/** Forwards connections to the port, and notes the lengths of the records that go in one direction. */
export async function startTlsTap(port: number, direction: Direction): Promise<TlsTap> {
  const lengths: number[] = []
  const tap = createServer((client) => {
    const server = connect({ host: '127.0.0.1', port })
    let read = Buffer.alloc(0)
    const from = direction === 'to_client' ? server : client
    from.on('data', (chunk) => {
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
  return { port: (tap.address() as AddressInfo).port, lengths, close: () => void tap.close() }
}
