import { once } from 'node:events'
import { type AddressInfo, type Socket, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { createHttpServer } from '../../../src/http/server.ts'
import { createLog } from '../../../src/platform/log.ts'
import { waitUntil } from '../../support/wait-until.ts'

const PROXY = '127.0.0.9'

async function startServer(connectionsPerNetwork: number) {
  const lines: string[] = []
  const log = createLog('warn', { write: (line) => lines.push(line) })
  const http = await createHttpServer({ log, tls: null, connectionsPerNetwork, trustedProxies: [`${PROXY}/32`] })
  http.get('/', ({ ip }) => ({ ip }))
  await http.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => http.close())
  return { port: (http.server.address() as AddressInfo).port, lines }
}

async function open(port: number, localAddress: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, localAddress })
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  return socket
}

async function ask(port: number, localAddress: string): Promise<string> {
  const socket = await open(port, localAddress)
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.7\r\nConnection: close\r\n\r\n')
  return text(socket).catch(() => '')
}

it('closes what one network opens above its limit, and serves others', async () => {
  const { port, lines } = await startServer(2)
  const [first] = [await open(port, '127.0.0.1'), await open(port, '127.0.0.1')]
  for (let more = 0; more < 3; more += 1) expect(await ask(port, '127.0.0.1')).toBe('')
  expect(await ask(port, '127.0.0.2')).toContain('{"ip":"127.0.0.2"}')
  first.destroy()
  await waitUntil('a free place', async () => (await ask(port, '127.0.0.1')).includes('127.0.0.1'))
  const warnings = lines.map((line) => JSON.parse(line) as object).filter((line) => 'network' in line)
  expect(warnings).toEqual([
    expect.objectContaining({ network: '127.0.0.1', limit: 2, msg: 'a network has too many connections' }),
  ])
})

it('does not count the connections of a trusted proxy, which are those of many clients', async () => {
  const { port } = await startServer(1)
  for (let idle = 0; idle < 3; idle += 1) await open(port, PROXY)
  expect(await ask(port, PROXY)).toContain('{"ip":"192.0.2.7"}')
})
