import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { startTlsTap } from '../../support/tls-records.ts'
import { startTestListener } from './websocket-listener.ts'

/** The message fits into 4096 bytes; authentication and type follow it. */
const MAX_BYTES = 4096 + 256

test('a large message to a device is sent in records that need no large buffer', async () => {
  const text = 'x'.repeat(50_000)
  const server = await startTestListener({ onSession: (socket) => socket.send(text) })
  const tap = await startTlsTap(server.port, 'to_client')
  const device = server.connect(tap.port)
  onTestFinished(async () => {
    device.terminate()
    tap.close()
    await server.close()
  })
  const [received] = (await once(device, 'message')) as [Buffer]
  expect(received.toString()).toBe(text)
  expect(tap.lengths.length).toBeGreaterThan(text.length / MAX_BYTES)
  expect(Math.max(...tap.lengths)).toBeLessThan(MAX_BYTES)
})
