import { FAMILY } from '../../src/gateway/edge/protocol.ts'
import { defaultLimits } from '../../src/gateway/edge/limits.ts'
import { routerDriver } from '../../src/gateway/edge/router-driver.ts'
import { routerHello } from '../edge/routers.ts'
import { describeDriver, sentCommandId } from './driver-suite.ts'
import { describeProtocol } from './protocol-suite.ts'
import { openRouterPeer } from './router-peer.ts'

const mac = '02aabbccddee'
const about = { command_id: sentCommandId, boot_id: 'first-boot' }
const aboutAnother = { ...about, command_id: '00000000-0000-4000-8000-000000000001' }

describeDriver('routers', routerDriver, {
  devices: [
    { device: { mac, type: 'gateway' }, hello: routerHello(mac) },
    { device: { mac, type: 'gateway' }, hello: { ...routerHello(mac), nodes: ['node0', 'node1'] } },
    { device: { mac, type: 'gateway' }, hello: { ...routerHello(mac), methods: ['restart'] }, refusesUpgrades: true },
  ],
  success: (text) => ({ result: { ...about, repeated: false, text }, error: undefined }),
  refusal: (text) => ({ result: undefined, error: { code: 1, message: text, data: about } }),
  repliesToAnother: [
    { result: { ...aboutAnother, repeated: false, text: 'fine' }, error: undefined },
    { result: undefined, error: { code: 1, message: 'not now', data: aboutAnother } },
  ],
  strangeReply: (value) => ({ result: value, error: value }),
  strangeEvent: (value) => value,
  sizeOf: (call) => Buffer.byteLength(JSON.stringify(call)),
  maxCallBytes: 2048,
})

describeProtocol({
  family: FAMILY,
  capabilities: routerDriver.capabilitiesOf(routerHello(mac)),
  helloMs: defaultLimits.helloMs,
  open: openRouterPeer,
})
