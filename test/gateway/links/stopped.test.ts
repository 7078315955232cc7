import { beforeAll, expect, test } from 'vitest'
import { type GatewayHarness, createGatewayHarness, openDevice } from '../harness.ts'

const DEAD_MS = 3000

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

test('a gateway that was stopped for longer than devices may be silent closes none of their sessions', async () => {
  const { port } = await harness.start({ hasOwnClock: true, limits: { deadMs: DEAD_MS, pingMs: 500 } })
  const devices = await Promise.all(Array.from({ length: 3 }, () => openDevice(port, harness.ca)))
  for (const device of devices) {
    await harness.claim(device.mac)
    device.hello()
    await harness.untilConnected(device.mac)
  }
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, DEAD_MS + 1000)
  for (const device of devices) {
    const id = await harness.queue(device.mac, { kind: 'locate', params: {} })
    const call = await device.nextCall()
    device.reply(call.id, { error: 0, text: 'it blinks' })
    expect(await harness.untilCommand(id, 'done')).toEqual({ text: 'it blinks' })
  }
})
