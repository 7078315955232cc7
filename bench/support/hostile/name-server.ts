import { createSocket } from 'node:dgram'
import { once } from 'node:events'

/** Names below it are answered with this machine; about all others the name server is silent. */
export const ANSWERED_DOMAIN = 'answered.test'
export const SILENT_DOMAIN = 'silent.test'

export interface NameServer {
  /** `address:port`. */
  readonly address: string
  close(): void
}

const HEADER_BYTES = 12
const TYPE_A = 1
/** The shortest time for which answers are cached, so that names are resolved again during each attack. */
const TTL_S = 1

export async function startNameServer(): Promise<NameServer> {
  const socket = createSocket('udp4')
  socket.on('message', (packet, { port, address }) => {
    const answer = answerTo(packet)
    if (answer !== null) socket.send(answer, port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { address: `127.0.0.1:${socket.address().port}`, close: () => void socket.close() }
}

/** Source of the format: RFC 1035, 4.1. */
function answerTo(packet: Buffer): Buffer | null {
  const nameEnd = packet.indexOf(0, HEADER_BYTES) + 1
  const [domain = ''] = ANSWERED_DOMAIN.split('.')
  if (!packet.toString('latin1', HEADER_BYTES, nameEnd).toLowerCase().includes(domain)) return null
  const hasAddress = packet.readUInt16BE(nameEnd) === TYPE_A
  const header = Buffer.alloc(HEADER_BYTES)
  packet.copy(header, 0, 0, 2)
  header.writeUInt16BE(0x8180, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(hasAddress ? 1 : 0, 6)
  const question = packet.subarray(HEADER_BYTES, nameEnd + 4)
  if (!hasAddress) return Buffer.concat([header, question])
  const record = Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, TTL_S, 0, 4, 127, 0, 0, 1])
  return Buffer.concat([header, question, record])
}
