import type { DeviceType } from '../../src/events/device-type.ts'
import { type GatewayHarness, type TestDevice, newMac, openDevice } from './harness.ts'

export interface NewDevice {
  /** Default: an access point. */
  readonly type?: DeviceType
  /** Fields of its `connect` besides, or instead of, the usual ones. */
  readonly params?: Readonly<Record<string, unknown>>
}

export const aSwitch = {
  type: 'switch',
  params: { capabilities: { compatible: 'test_switch', platform: 'switch' } },
} as const satisfies NewDevice

/** Claims a new device, and connects it to the gateway at the port. */
export async function connectDevice(
  harness: GatewayHarness,
  port: number,
  { type = 'ap', params = {} }: NewDevice = {},
): Promise<TestDevice> {
  const mac = newMac()
  await harness.claim(mac, type)
  const device = await openDevice(port, harness.ca, { mac })
  device.hello(params)
  await harness.untilConnected(mac)
  return device
}
