// The suite's own test: a second, trivial protocol, which needs no change in the gateway.
import { describeDriver } from './driver-suite.ts'
import { lineDriver } from './lines/driver.ts'
import { openLinePeer } from './lines/peer.ts'
import { FAMILY, HELLO_MS, lines } from './lines/protocol.ts'
import { describeProtocol } from './protocol-suite.ts'

const mac = '02aabbccddee'
const hello = { mac, version: '1.0.0' }

describeDriver(FAMILY, lineDriver, {
  devices: [{ device: { mac, type: 'gateway' }, hello }],
  success: (text) => ({ word: 'ok', text }),
  refusal: (text) => ({ word: 'no', text }),
  strangeReply: (value) => ({ word: [value], text: value }),
  strangeEvent: (value) => value,
  sizeOf: (call) => Buffer.byteLength(call),
  maxCallBytes: 1024,
})

describeProtocol({
  family: FAMILY,
  protocol: lines,
  capabilities: lineDriver.capabilitiesOf(hello),
  helloMs: HELLO_MS,
  open: openLinePeer,
})
