import { describe } from 'vitest'
import { FAMILY, ucentralDriver } from '../../src/gateway/ucentral/driver.ts'
import { defaultLimits } from '../../src/gateway/ucentral/limits.ts'
import type { Capabilities } from '../../src/gateway/ucentral/messages.ts'
import { openDevice } from '../gateway/harness.ts'
import { stockCapabilities } from '../support/fleets/devices.ts'
import { describeDriver } from './driver-suite.ts'
import type { TestCall } from './link-suite.ts'
import { describeProtocol } from './protocol-suite.ts'

const mac = '02aabbccddee'
const ap = { mac, type: 'ap' as const }
const ols = { mac, type: 'switch' as const }
const hello = (platform: string, extension?: Capabilities['x-signalbox']): Capabilities => ({
  compatible: 'test_model',
  platform,
  ...(extension !== undefined && { 'x-signalbox': extension }),
})
const member = { member: 1, mac, serial: 's', model: 'm', firmware: '1.0.0' }

const capable = {
  protocol: 1 as const,
  methods: ['reboot', 'stage', 'activate', 'restore_backup', 'snapshot'],
  members: [member],
  backup_version: '0.9.0',
}

const statusOf = (error: number, text: string) => ({
  result: { serial: mac, uuid: 1, status: { error, text } },
  error: undefined,
})

describeDriver(FAMILY, ucentralDriver, {
  devices: [
    { device: ap, hello: hello('ap') },
    { device: ols, hello: hello('switch') },
    { device: ols, hello: hello('switch', { protocol: 1, methods: ['reboot'] }) },
    { device: ols, hello: hello('switch', { protocol: 1, methods: ['reboot'], members: [member] }) },
    { device: ols, hello: hello('switch', { protocol: 1, methods: ['stage'] }) },
    { device: ols, hello: hello('switch', capable) },
    { device: ols, hello: hello('switch', { protocol: 1, methods: ['restore_backup'], backup_version: null }) },
  ],
  success: (text) => statusOf(0, text),
  refusal: (text) => statusOf(1, text),
  strangeReply: (value) => ({ result: value, error: undefined }),
  strangeEvent: (value) => ({ type: 'firmware_upgrade_status', payload: value }),
  sizeOf: (call) => Buffer.byteLength(JSON.stringify(call)),
  // One unfragmented frame of a size that every known device accepts.
  maxCallBytes: 31 * 1024,
})

const peers: readonly { readonly extension?: Capabilities['x-signalbox'] }[] = [{}, { extension: capable }]

describe.each(peers)('with $extension', ({ extension }) => {
  const capabilities = extension && { ...hello('ap', extension) }
  describeProtocol({
    family: FAMILY,
    capabilities: capabilities === undefined ? stockCapabilities() : ucentralDriver.capabilitiesOf(capabilities),
    helloMs: defaultLimits.helloMs,
    async open({ port, mac: own, harness }) {
      const device = await openDevice(port, harness.ca, { mac: own })
      const callOf = (id: number, text: string): TestCall => ({
        id,
        text,
        accept: () => device.reply(id, { error: 0, text: 'Success' }),
        refuse: (reason) => device.reply(id, { error: 1, text: reason }),
      })
      return {
        closed: device.closed,
        hello: () => device.hello(capabilities && { capabilities }),
        async nextCall() {
          const call = await device.nextCall()
          return callOf(call.id, JSON.stringify(call))
        },
        adopt: ({ id, text }) => callOf(id, text),
        drop: () => device.socket.terminate(),
      }
    },
  })
})
