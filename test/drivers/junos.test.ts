import { FAMILY, junosDriver } from '../../src/gateway/netconf/driver.ts'
import type { ChassisMember, JunosFacts } from '../../src/gateway/netconf/facts.ts'
import { defaultLimits } from '../../src/gateway/netconf/limits.ts'
import { netconf } from '../../src/gateway/netconf/protocol.ts'
import { sshUserKey } from '../../src/devices/call-home/ssh-user.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import { newHostKey } from '../netconf/harness.ts'
import { describeDriver } from './driver-suite.ts'
import { openJunosPeer } from './junos-peer.ts'
import { describeProtocol } from './protocol-suite.ts'

const mac = '02aabbccddee'
const member = (number: number, isPresent = true): ChassisMember => ({
  member: number,
  isPresent,
  isMaster: number === 0,
  isAnswering: number === 0,
  serial: `S${number}`,
  model: 'EX4100-48P',
  mac: '',
  version: isPresent ? '22.4R3.25' : '',
})
const facts = (more: Partial<JunosFacts> = {}): JunosFacts => ({
  mac,
  model: 'EX4100-48P',
  serial: 'S0',
  version: '22.4R3.25',
  type: 'switch',
  members: [member(0)],
  nodes: [],
  uptimeS: 60,
  partUptimes: new Map(),
  backup: { version: '21.4R3.15' },
  ...more,
})
const ex = { mac, type: 'switch' as const }
const srx = { mac, type: 'gateway' as const }
const nodes = (['node0', 'node1'] as const).map((node) => ({
  node,
  isPresent: true,
  serial: node,
  version: '22.4R3.25',
}))

describeDriver(FAMILY, junosDriver, {
  devices: [
    { device: ex, hello: facts() },
    { device: ex, hello: facts({ members: [0, 1, 2].map((number) => member(number, number < 2)) }) },
    { device: ex, hello: facts({ model: 'EX2300-24P', backup: null }) },
    { device: srx, hello: facts({ model: 'SRX345', type: 'gateway', members: [] }) },
    { device: srx, hello: facts({ model: 'SRX345', type: 'gateway', members: [], nodes }) },
    { device: srx, hello: facts({ model: 'SRX1500', type: 'gateway', members: [], nodes }), refusesUpgrades: true },
  ],
  success: (text) => ({ kind: 'done', text }),
  refusal: (text) => ({ kind: 'rejected', code: 'refused', text, final: false }),
  strangeReply: (value) => ({ kind: value, code: value, text: value, final: value }),
  strangeEvent: (value) => value,
  sizeOf: (call) => Buffer.byteLength(JSON.stringify(call)),
  maxCallBytes: 8 * 1024,
})

const hostKey = newHostKey()

// The account's key does not matter here: the peer lets any key in.
const { privateKey } = sshUserKey(createSecrets(Buffer.alloc(32)))

describeProtocol({
  family: FAMILY,
  type: 'switch',
  protocol: netconf({ host: '127.0.0.1', port: 0, privateKey, limits: { lookMs: 1 } }),
  capabilities: junosDriver.capabilitiesOf(facts()),
  helloMs: defaultLimits.helloMs,
  // A connection that breaks during a restart is the restart.
  losable: { kind: 'snapshot', params: {} },
  repliesEndWithLink: true,
  open: (target) => openJunosPeer({ ...target, hostKey }),
})
