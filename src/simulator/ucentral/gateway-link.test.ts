import { once } from 'node:events'
import { type AddressInfo, type Socket, createServer } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { issueDeviceCertificate, makeCa } from '../../gateway/certificates/device-ca.ts'
import { GatewayLink, type LinkListener } from './gateway-link.ts'

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

const ignored = () => undefined
const pace = { timeScale: 0.001, answerWaitMs: 5000 }
const WATCHDOG_MS = 300_000 * pace.timeScale

/** Creates the link of an access point to a gateway on this machine. */
async function createLink(port: number, listener: Partial<LinkListener>): Promise<GatewayLink> {
  const ca = await makeCa()
  const identity = await issueDeviceCertificate(ca, '020000000001')
  return new GatewayLink(
    { url: `wss://127.0.0.1:${port}/`, ca: ca.certificatePem, ...identity, type: 'ap', pace },
    { onOpen: ignored, onText: ignored, onDown: ignored, onRestart: ignored, ...listener },
  )
}

test('a device offers the groups of real ones for the key exchange, at each of its connections', async () => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const link = await createLink(port, {})
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

test('a watchdog lets an attempt to connect go on, and restarts the client when it has failed', async () => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  let restarts = 0
  const link = await createLink((server.address() as AddressInfo).port, { onRestart: () => (restarts += 1) })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  link.connect()
  const [first] = (await once(server, 'connection')) as [Socket]
  await once(first, 'data')
  vi.advanceTimersByTime(WATCHDOG_MS)
  expect(restarts).toBe(0)
  first.on('error', ignored).destroy()
  const [second] = (await once(server, 'connection')) as [Socket]
  expect(restarts).toBe(1)
  link.disconnect()
  second.on('error', ignored).destroy()
  server.close()
})
