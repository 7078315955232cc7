import { beforeAll, expect, test } from 'vitest'
import { systemScope } from '../../../src/access/scope.ts'
import { deviceIdOf } from '../../../src/devices/device.ts'
import { lockOrgAlone } from '../../../src/orgs/store.ts'
import { type Tx, inTx } from '../../../src/platform/database/db.ts'
import { closeCodes } from '../../../src/gateway/websockets/close-codes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type RowsToLock, lockRows, whileRowsAreLocked } from '../../support/while-locked.ts'
import { type GatewayHarness, createGatewayHarness, newMac, openDevice } from '../harness.ts'

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

type Table = 'device_registry' | 'device_session' | 'device_command' | 'device_status'

function whileLocked(mac: string, table: Table, work: (tx: Tx) => Promise<void>): Promise<void> {
  return whileRowsAreLocked(harness.ctx, rowsOf(mac, table), work)
}

function rowsOf(mac: string, table: Table): RowsToLock {
  return { table, column: table === 'device_registry' ? 'id' : 'device_id', value: deviceIdOf(mac) }
}

async function claimed(): Promise<string> {
  const mac = newMac()
  await harness.claim(mac)
  return mac
}

test.each<Table>(['device_registry', 'device_status'])(
  'a device connects while another organization changes one that connects at the same time: %s',
  async (table) => {
    const [locked, other] = [await claimed(), await claimed()]
    const { port } = await harness.start()
    const first = await openDevice(port, harness.ca, { mac: locked })
    const second = await openDevice(port, harness.ca, { mac: other })
    await whileLocked(locked, table, async () => {
      first.hello()
      second.hello()
      await harness.untilConnected(other)
      expect(await harness.status(locked)).toMatchObject({ connected: false })
    })
    await harness.untilConnected(locked)
    await first.untilTelemetryCall()
  },
)

test.each<Table>(['device_session', 'device_command'])(
  'a device reconnects while its former session ends, and delays no other one: %s',
  async (table) => {
    const [locked, other] = [await claimed(), await claimed()]
    const { port } = await harness.start()
    const former = await openDevice(port, harness.ca, { mac: locked })
    former.hello()
    await harness.untilConnected(locked)
    const command = await harness.queue(locked, { kind: 'locate', params: {} })
    await former.nextCall()
    const [latter, second] = [
      await openDevice(port, harness.ca, { mac: locked }),
      await openDevice(port, harness.ca, { mac: other }),
    ]
    await whileLocked(locked, table, async (tx) => {
      latter.hello()
      second.hello()
      await harness.untilConnected(other)
      // The end of a session changes the status last.
      await lockRows(tx, rowsOf(locked, 'device_status'))
      expect(latter.telemetryCalls).toEqual([])
    })
    await latter.untilTelemetryCall()
    expect(await former.closed).toBe(closeCodes.replaced)
    await harness.untilCommand(command, 'unknown')
  },
)

test('the end of a session is recorded, and its device reconnects, while another organization changes one', async () => {
  const [locked, other] = [await claimed(), await claimed()].toSorted()
  if (locked === undefined || other === undefined) throw new Error('no devices')
  const { port } = await harness.start()
  const devices = [
    await openDevice(port, harness.ca, { mac: locked }),
    await openDevice(port, harness.ca, { mac: other }),
  ]
  for (const device of devices) {
    device.hello()
    await harness.untilConnected(device.mac)
  }
  await whileLocked(locked, 'device_status', async () => {
    for (const device of devices) device.socket.close()
    await harness.untilConnected(other, false)
    const again = await openDevice(port, harness.ca, { mac: other })
    again.hello()
    await harness.untilConnected(other)
    // A batch of its own, while the other one is still locked.
    again.socket.close()
    await harness.untilConnected(other, false)
    expect(await harness.status(locked)).toMatchObject({ connected: true })
  })
  await harness.untilConnected(locked, false)
})

test('a device is claimed and connects while the settings of its organization are being changed', async () => {
  const { port } = await harness.start()
  await inTx(harness.ctx, async (tx) => {
    await lockOrgAlone(tx, systemScope('operator', harness.orgId))
    const mac = await claimed()
    const device = await openDevice(port, harness.ca, { mac })
    device.hello()
    await harness.untilConnected(mac)
  })
})

test('a stop does not wait for the end of a locked session', async () => {
  const [mac, other] = [await claimed(), await claimed()]
  const gateway = await harness.start()
  const devices = [
    await openDevice(gateway.port, harness.ca, { mac }),
    await openDevice(gateway.port, harness.ca, { mac: other }),
  ]
  for (const device of devices) {
    device.hello()
    await harness.untilConnected(device.mac)
  }
  await whileLocked(mac, 'device_status', async () => {
    for (const device of devices) {
      device.socket.close()
      await device.closed
    }
    await harness.untilConnected(other, false)
    await gateway.stop()
  })
  expect(await harness.status(mac)).toMatchObject({ connected: true })
})

test('a device that is not registered yet connects beside a locked one', async () => {
  const [locked, unknown] = [await claimed(), newMac()]
  const { port } = await harness.start()
  const first = await openDevice(port, harness.ca, { mac: locked })
  const second = await openDevice(port, harness.ca, { mac: unknown })
  await whileLocked(locked, 'device_registry', async () => {
    first.hello()
    second.hello()
    await second.untilTelemetryCall()
  })
  await harness.untilConnected(locked)
})

test('of the connections that a locked device has opened meanwhile, the last one counts', async () => {
  const mac = await claimed()
  const gateway = await harness.start()
  const { port, counters, refusals } = gateway
  const former = await openDevice(port, harness.ca, { mac })
  const latter = await openDevice(port, harness.ca, { mac })
  await whileLocked(mac, 'device_registry', async () => {
    former.hello()
    // The former one is known to wait when another device has connected.
    const other = await openDevice(port, harness.ca)
    other.hello()
    await other.untilTelemetryCall()
    latter.hello()
    await former.closed
  })
  await latter.untilTelemetryCall()
  await harness.untilConnected(mac)
  expect(former.telemetryCalls).toEqual([])
  await gateway.stop()
  expect(counters.read()).toMatchObject({ refused_identity: 0, message_failed: 0 })
  expect(refusals.list()).toEqual([])
})

test('the gateway stops while a device is locked', async () => {
  const mac = await claimed()
  const gateway = await harness.start()
  const [device, other] = [
    await openDevice(gateway.port, harness.ca, { mac }),
    await openDevice(gateway.port, harness.ca),
  ]
  await whileLocked(mac, 'device_registry', async () => {
    device.hello()
    other.hello()
    await other.untilTelemetryCall()
    await gateway.stop()
  })
  expect(await harness.status(mac)).toMatchObject({ connected: false })
  await waitUntil('the connection to end', () => device.socket.readyState === device.socket.CLOSED)
})
