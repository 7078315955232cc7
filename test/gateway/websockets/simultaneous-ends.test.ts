// Connections that their peers close or reset at the same time, as when a network breaks.
import { type Socket, connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { Allowance } from '../../../src/gateway/admission/allowance.ts'
import { createTurns } from '../../../src/gateway/admission/turns.ts'
import { FrameSession, type UnpackedFrame } from '../../../src/gateway/websockets/frame-session.ts'
import type { SessionSocket } from '../../../src/gateway/websockets/session-socket.ts'
import type { Peer } from '../../../src/gateway/websockets/websocket-server.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { startTestListener } from './websocket-listener.ts'

const CONNECTIONS = 80
/** As the gateway declares it. */
const ENDED_PER_TURN = 32

const now = (): number => performance.now()
const turns = createTurns(now)

class TestSession extends FrameSession {
  readonly socket: SessionSocket
  readonly peer: Peer<string>
  code: number | null = null
  readonly isConnected = true

  constructor(socket: SessionSocket, peer: Peer<string>) {
    super(socket, { ...peer, allowance: new Allowance(now()) }, { now, turns })
    this.socket = socket
    this.peer = peer
  }

  say(): boolean {
    return this.write('{}')
  }

  protected unpack(): UnpackedFrame {
    return expect.unreachable('nothing is sent')
  }

  protected async onCall(): Promise<void> {}
  protected async onReply(): Promise<void> {}
  protected onMalformed(why: string): void {
    expect.unreachable(why)
  }
  protected onFlood(): void {}

  protected onClosed(code: number): void {
    this.code = code
  }
}

interface Opened {
  readonly sessions: TestSession[]
  readonly devices: WebSocket[]
  /** Those of the devices. */
  readonly sockets: Socket[]
}

async function openSessions(): Promise<Opened> {
  const sessions: TestSession[] = []
  const sockets: Socket[] = []
  const server = await startTestListener({
    onSession: (socket, peer) => void sessions.push(new TestSession(socket, peer)),
    onRefused: (why) => expect.unreachable(why),
  })
  const { port } = server
  const devices = Array.from({ length: CONNECTIONS }, () => {
    const socket = connect(port, '127.0.0.1')
    sockets.push(socket)
    // The types of ws declare all forms of connect(); it uses this one.
    const createConnection = ((options: object) => connectTls({ ...options, socket })) as unknown as typeof connect
    return server.connect(port, { createConnection }).on('error', () => {})
  })
  onTestFinished(async () => {
    for (const device of devices) device.terminate()
    await server.close()
  })
  await waitUntil('all sessions', () => devices.every(({ readyState }) => readyState === WebSocket.OPEN))
  return { sessions, devices, sockets }
}

const largestStep = (counts: readonly number[]): number =>
  Math.max(...counts.map((count, index) => count - (counts[index - 1] ?? 0)))

test.each(['closed', 'reset'] as const)(
  'a turn ends a bounded number of %s ones, nothing is sent to the others, and each session learns of its end',
  async (how) => {
    const { sessions, devices, sockets } = await openSessions()
    if (how === 'closed') for (const device of devices) device.terminate()
    else for (const socket of sockets) socket.resetAndDestroy()
    const ended: number[] = []
    let waited = 0
    while (sessions.some(({ code }) => code === null)) {
      await nextTurn()
      ended.push(sessions.filter(({ code }) => code !== null).length)
      const waiting = sessions.filter(({ code, peer }) => code === null && peer.stream.destroyed)
      for (const session of waiting) expect(session.say()).toBe(false)
      waited += waiting.length
    }
    expect(largestStep(ended)).toBeLessThanOrEqual(ENDED_PER_TURN)
    expect(waited).toBeGreaterThan(0)
    expect(sessions.map(({ code }) => code)).toEqual(sessions.map(() => 1006))
  },
)

test('a turn answers a bounded number of close frames, and nothing is sent to the others', async () => {
  const { sessions, devices } = await openSessions()
  for (const device of devices) device.close(4000)
  const answered: number[] = []
  let waited = 0
  while (sessions.some(({ code }) => code === null)) {
    await nextTurn()
    answered.push(sessions.filter(({ socket }) => socket.readyState !== socket.OPEN).length)
    const waiting = sessions.filter(({ socket }) => socket.readyState === socket.OPEN && socket.isEnding)
    for (const session of waiting) expect(session.say()).toBe(false)
    waited += waiting.length
  }
  expect(largestStep(answered)).toBeLessThanOrEqual(ENDED_PER_TURN)
  expect(waited).toBeGreaterThan(0)
  expect(sessions.map(({ code }) => code)).toEqual(sessions.map(() => 4000))
})
