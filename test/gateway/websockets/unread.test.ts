import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { Allowance } from '../../../src/gateway/admission/allowance.ts'
import { createTurns } from '../../../src/gateway/admission/turns.ts'
import { FrameSession, type UnpackedFrame } from '../../../src/gateway/websockets/frame-session.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** A session whose messages a test writes. */
class WrittenSession extends FrameSession {
  readonly isConnected = true
  readonly send = (text: string): boolean => this.write(text)
  protected unpack(): UnpackedFrame {
    throw new Error('The device sends nothing')
  }
  protected async onCall(): Promise<void> {}
  protected async onReply(): Promise<void> {}
  protected onMalformed(): void {}
  protected onFlood(): void {}
  protected onClosed(): void {}
}

async function openSession(): Promise<{ session: WrittenSession; device: WebSocket; socket: WebSocket }> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => server.close())
  await once(server, 'listening')
  const device = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  onTestFinished(() => device.terminate())
  const [[socket, request]] = await Promise.all([once(server, 'connection'), once(device, 'open')])
  const now = (): number => performance.now()
  const allowance = new Allowance(now())
  const peer = { identity: null, certificateSerial: '', certificateExpiresAt: new Date(), address: null }
  const session = new WrittenSession(
    socket,
    { ...peer, stream: request.socket, allowance },
    { now, turns: createTurns(now) },
  )
  return { session, device, socket }
}

const MESSAGE = 'x'.repeat(64 * 1024)
/** More than the buffers of the system and of the gateway together. */
const MANY = 1000

test('a device that does not read is disconnected when a megabyte waits for it', async () => {
  const { session, device, socket } = await openSession()
  device.pause()
  let sent = 0
  while (sent < MANY && session.send(MESSAGE)) {
    sent += 1
    expect(socket.bufferedAmount).toBeLessThan(1024 * 1024 + 2 * MESSAGE.length)
  }
  expect(sent).toBeLessThan(MANY)
  await waitUntil('the end of the session', () => session.isClosed)
  expect(session.send('')).toBe(false)
})

test('a device that reads gets as much as is sent', async () => {
  const { session, device, socket } = await openSession()
  let received = 0
  device.on('message', () => (received += 1))
  for (let sent = 0; sent < MANY; sent += 1) {
    if (socket.bufferedAmount > 0) await waitUntil('the message', () => socket.bufferedAmount === 0)
    expect(session.send(MESSAGE)).toBe(true)
  }
  await waitUntil('all messages', () => received === MANY)
  expect(session.isClosed).toBe(false)
})
