import { once } from 'node:events'
import { type AddressInfo, type Socket, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { issueDeviceCertificate, makeCa } from '../../gateway/certificates/device-ca.ts'
import { GatewayLink } from './gateway-link.ts'

const SUPPORTED_GROUPS = 10
const X25519 = 0x00_1d
const X25519_MLKEM768 = 0x11_ec

/** Returns the groups that the first TLS record of a connection offers for the key exchange. */
function groupsOf(hello: Buffer): number[] {
  let at = 5 + 4 + 2 + 32 // The headers of record and message, the version, the random bytes.
  at += 1 + hello.readUInt8(at) // The session id.
  at += 2 + hello.readUInt16BE(at) // The ciphers.
  at += 1 + hello.readUInt8(at) // The compressions.
  const end = at + 2 + hello.readUInt16BE(at)
  for (at += 2; at < end; at += 4 + hello.readUInt16BE(at + 2)) {
    if (hello.readUInt16BE(at) !== SUPPORTED_GROUPS) continue
    const count = hello.readUInt16BE(at + 4) / 2
    return Array.from({ length: count }, (_, index) => hello.readUInt16BE(at + 6 + 2 * index))
  }
  return []
}

test('a device offers the groups of real ones for the key exchange, at each of its connections', async () => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const ca = await makeCa()
  const pace = { timeScale: 0.001, answerWaitMs: 5000 }
  const identity = await issueDeviceCertificate(ca, '020000000001')
  const ignored = () => undefined
  const link = new GatewayLink(
    { url: `wss://127.0.0.1:${port}/`, ca: ca.certificatePem, ...identity, type: 'ap', pace },
    { onOpen: ignored, onText: ignored, onDown: ignored, onRestart: ignored },
  )
  link.connect()
  for (let connection = 1; connection <= 2; connection += 1) {
    const [socket] = (await once(server, 'connection')) as [Socket]
    const [hello] = (await once(socket, 'data')) as [Buffer]
    expect(groupsOf(hello)).toContain(X25519)
    expect(groupsOf(hello)).not.toContain(X25519_MLKEM768)
    socket.on('error', ignored).destroy()
  }
  link.disconnect()
  server.close()
})
