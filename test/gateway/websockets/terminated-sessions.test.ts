import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { startTestListener } from './websocket-listener.ts'

test('what a device sent after the message that ended its session is dropped', async () => {
  let received = 0
  const server = await startTestListener({
    onSession: (socket) =>
      socket.on('message', () => {
        received += 1
        socket.terminate()
      }),
  })
  onTestFinished(() => server.close())
  const device = server.connect()
  await once(device, 'open')
  // The gateway reads what a turn of the event loop has written together, one record of TLS after the other.
  for (const message of ['first', 'second', 'third']) device.send(message)
  await once(device, 'close')
  expect(received).toBe(1)
})
