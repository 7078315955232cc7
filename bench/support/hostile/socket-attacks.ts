import { randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import { type Attack, type AttackRun, inLanes, networkAddress } from './attack.ts'
import { pause, strikeAsTenant } from './call.ts'

const SLOW = 400
const SILENT = 1000
const SILENT_NETWORKS = 50
const RETRY_MS = 200

interface Opened {
  readonly socket: Socket
  /** Resolves when the peer closes it, or the attack is to end. */
  readonly ended: Promise<void>
}

function open({ world: { host }, signal }: AttackRun, port: number, localAddress: string): Opened {
  const socket = connect({ host, port, localAddress })
  socket.on('error', () => undefined)
  socket.resume()
  const ended = once(socket, 'close', { signal })
    .then(() => undefined)
    .catch(() => void socket.destroy())
  return { socket, ended }
}

/** Opens a connection again whenever it is closed. */
async function keepOpen(run: AttackRun, { socket, ended }: Opened, speak: () => () => void): Promise<void> {
  const end = speak()
  await ended
  end()
  socket.destroy()
  if (run.signal.aborted) return
  run.count('closed')
  await pause(RETRY_MS, run.signal)
}

const slowBeginnings = [
  'POST /api/v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: Application/JSON\r\nContent-Length: 10000\r\n\r\n{',
  'POST /api/v1/recover HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\nContent-Length: 10000\r\n\r\n',
  'POST /nothing HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n',
  'GET /api/v1/self HTTP/1.1\r\nHost: x\r\nX-Slow: ',
]

const slowBodies: Attack = {
  what: `sends ${SLOW} bodies and heads a byte a second, of several types and without ends`,
  run: (run) =>
    inLanes(SLOW, run, async (lane) => {
      const opened = open(run, run.world.port, networkAddress(lane % 4))
      const { socket } = opened
      await keepOpen(run, opened, () => {
        run.count('opened')
        socket.write(slowBeginnings[lane % slowBeginnings.length] ?? '')
        const timer = setInterval(() => socket.write(lane % slowBeginnings.length === 2 ? '1\r\n \r\n' : ' '), 1000)
        return () => clearInterval(timer)
      })
    }),
}

const connections: Attack = {
  what: 'opens 2,500 connections to the HTTP port from one network, and says nothing',
  run: (run) =>
    inLanes(2500, run, async () => {
      run.count('opened')
      await keepOpen(run, open(run, run.world.port, networkAddress(0)), () => () => undefined)
    }),
}

const silence: Attack = {
  what: `keeps ${SILENT} silent connections open to the ports for devices, from ${SILENT_NETWORKS} networks`,
  run: (run) =>
    inLanes(SILENT, run, async (lane) => {
      const port = lane % 4 === 0 ? run.world.edgePort : run.world.ucentralPort
      run.count('opened')
      await keepOpen(run, open(run, port, networkAddress(lane % SILENT_NETWORKS)), () => () => undefined)
    }),
}

const oddRequests = [
  'GET / HTTP/9.9\r\n\r\n',
  'POST /api/v1/login HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}',
  'POST /api/v1/login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\nzz\r\n',
  `GET /api/v1/self HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(100_000)}\r\n\r\n`,
  `GET /${'%00'.repeat(5000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
  'GET /api/v1/stream HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\n\r\n',
  '\0\0\0\0\r\n\r\n',
]

const oddBodies = ['{', '[[[[[[[[', '{"name":1e999}', '['.repeat(10_000), '{"__proto__":{"x":1}}', '"\\ud800"', '']

/** A TLS record header, so that the gateway reads on. */
const tlsBeginning = Buffer.from([22, 3, 1, 2, 0])

async function sendGarbage(run: AttackRun, lane: number, round: number): Promise<unknown> {
  const { world, tenant } = run
  const choice = (lane + round) % 4
  if (choice === 0) {
    const body = oddBodies[round % oddBodies.length] ?? ''
    return strikeAsTenant(run, { method: 'PUT', path: `/sites/${tenant.siteId}`, body })
  }
  const port = choice === 1 ? world.port : choice === 2 ? world.ucentralPort : world.edgePort
  const opened = open(run, port, networkAddress(lane))
  const { socket, ended } = opened
  const bytes = choice === 1 ? (oddRequests[round % oddRequests.length] ?? '') : tlsBeginning
  socket.write(bytes)
  socket.end(randomBytes(randomInt(1, 20_000)))
  run.count('sent')
  await ended
  return pause(50, run.signal)
}

const garbage: Attack = {
  what: 'sends malformed requests, bodies and handshakes to every port',
  run: (run) => inLanes(32, run, (lane, round) => sendGarbage(run, lane, round)),
}

/** Attacks that are open to anyone who reaches a port. */
export const socketAttacks = { 'slow-bodies': slowBodies, connections, silence, garbage }
