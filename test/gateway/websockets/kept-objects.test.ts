import { once } from 'node:events'
import type { Socket } from 'node:net'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { createConnectionGate, defaultConnections } from '../../../src/platform/queues/connection-gate.ts'
import { startTestListener } from './websocket-listener.ts'

test('a session keeps no listener of its connection for an event that has passed', async () => {
  const gate = createConnectionGate(defaultConnections, pino({ level: 'silent' }))
  const accepted: Socket[] = []
  const server = await startTestListener({
    onSession: (socket) => socket.send('{}'),
    gate: {
      ...gate,
      pass(socket, passage) {
        accepted.push(socket)
        gate.pass(socket, passage)
      },
    },
  })
  const device = server.connect()
  onTestFinished(async () => {
    device.terminate()
    await server.close()
  })
  await once(device, 'message')
  expect(accepted.flatMap((socket) => socket.eventNames())).not.toContain('connect')
})
