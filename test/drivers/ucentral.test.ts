import type { Capabilities } from '../../src/gateway/ucentral/messages.ts'
import { ucentralDriver } from '../../src/gateway/ucentral/driver.ts'
import { describeDriver } from './driver-suite.ts'

const mac = '02aabbccddee'
const ap = { mac, type: 'ap' as const }
const ols = { mac, type: 'switch' as const }
const hello = (platform: string, extension?: Capabilities['x-signalbox']): Capabilities => ({
  compatible: 'test_model',
  platform,
  ...(extension !== undefined && { 'x-signalbox': extension }),
})
const member = { member: 1, mac, serial: 's', model: 'm', firmware: '1.0.0' }

const statusOf = (error: number, text: string) => ({
  result: { serial: mac, uuid: 1, status: { error, text } },
  error: undefined,
})

describeDriver('uCentral', ucentralDriver, {
  devices: [
    { device: ap, hello: hello('ap') },
    { device: ols, hello: hello('switch') },
    { device: ols, hello: hello('switch', { protocol: 1, methods: ['reboot'] }) },
    { device: ols, hello: hello('switch', { protocol: 1, methods: ['reboot'], members: [member] }) },
    { device: ols, hello: hello('switch', { protocol: 1, methods: ['stage'] }) },
  ],
  success: (text) => statusOf(0, text),
  refusal: (text) => statusOf(1, text),
  strangeReply: (value) => ({ result: value, error: undefined }),
  strangeEvent: (value) => ({ type: 'firmware_upgrade_status', payload: value }),
  sizeOf: (call) => Buffer.byteLength(JSON.stringify(call)),
  // One unfragmented frame of a size that every known device takes.
  maxCallBytes: 31 * 1024,
})
