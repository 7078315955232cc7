import { decodeReply as decodeEdgeReply } from '../../../src/gateway/edge/driver.ts'
import { isHello, isProgress, isReport } from '../../../src/gateway/edge/messages.ts'
import { routerDriver } from '../../../src/gateway/edge/router-driver.ts'
import { isRouterHello, isRouterReport } from '../../../src/gateway/edge/router-messages.ts'
import {
  compressParams,
  decodeFrame,
  encodeCall,
  encodeError,
  encodeNotification,
  encodeResult,
} from '../../../src/gateway/websockets/jsonrpc.ts'
import { readChanges, readFacts } from '../../../src/gateway/netconf/facts.ts'
import { FrameDecoder, type Framing, FramingError, encodeMessage } from '../../../src/gateway/netconf/framing.ts'
import { readHardware } from '../../../src/gateway/netconf/hardware.ts'
import { PreambleError, PreambleReader } from '../../../src/gateway/netconf/preamble.ts'
import { type RpcReply, decodeHello, decodeRpcReply } from '../../../src/gateway/netconf/rpc.ts'
import type { Task } from '../../../src/gateway/netconf/task.ts'
import { startTask } from '../../../src/gateway/netconf/tasks.ts'
import { XmlError, parseXml } from '../../../src/gateway/netconf/xml.ts'
import { type DeviceEvent, ucentralDriver } from '../../../src/gateway/ucentral/driver.ts'
import { isDeviceMessage, isDeviceMethod } from '../../../src/gateway/ucentral/messages.ts'
import { decodeState } from '../../../src/gateway/ucentral/state/decode-state.ts'
import * as states from '../../../src/gateway/ucentral/state/samples.ts'
import { answerRpc } from '../../../src/simulator/junos/answer-rpc.ts'
import { type JunosForm, createJunosDevice } from '../../../src/simulator/junos/junos-device.ts'

/** The gateway's decoder for the messages of a protocol's devices. */
export interface Codec {
  readonly name: string
  /** Frames of real devices. */
  readonly frames: readonly Buffer[]
  /** Decodes as far as the gateway does before it writes anything, and returns the value that it would store. */
  readonly decode: (bytes: Buffer) => unknown
  /** The errors by which it refuses invalid bytes; others are defects. */
  readonly refusals: readonly (new (...args: never[]) => Error)[]
}

const mac = '02aabbccddee'
const id = '0193a1c0-0000-7000-8000-000000000004'
const kinds = ['restart', 'upgrade', 'stage', 'activate', 'locate', 'ping', 'support', 'snapshot'] as const

const capabilities = {
  compatible: 'test_model',
  platform: 'switch',
  'x-signalbox': { protocol: 1, methods: ['reboot', 'restore_backup'], backup_version: '1.0.0' },
}
const upgradeStatus = { type: 'firmware_upgrade_status', payload: { operation: 'download', percentage: 5 } }

export const ucentral: Codec = {
  name: 'uCentral frames',
  frames: [
    encodeNotification('connect', { serial: mac, uuid: 1, firmware: '1.0.0', capabilities }),
    encodeNotification('event', { serial: mac, data: { event: [1, upgradeStatus] } }),
    encodeNotification('healthcheck', { serial: mac, uuid: 1, sanity: 100, data: {} }),
    encodeResult(1024, { serial: mac, uuid: 1, status: { error: 0, text: 'Success' } }),
    encodeError(1025, { code: -32601, message: 'unknown' }),
    ...Object.values(states).flatMap((state) => [
      encodeNotification('state', { serial: mac, uuid: 1, state }),
      encodeNotification('state', compressParams({ serial: mac, uuid: 1, state })),
    ]),
  ].map((text) => Buffer.from(text)),
  decode(bytes) {
    const frame = decodeFrame(bytes.toString('utf8'))
    if (frame.kind === 'reply') {
      const { result, error } = frame
      const sent = { id, device: { mac, type: 'switch' as const }, lastStep: null }
      return kinds.map((kind) => ucentralDriver.decodeReply({ ...sent, kind }, { result, error }))
    }
    if (frame.kind !== 'call' || !isDeviceMethod(frame.method)) return frame.kind
    const { method, params } = frame
    if (method === 'connect' && isDeviceMessage(method, params))
      return ucentralDriver.capabilitiesOf(params.capabilities)
    if (method === 'state' && isDeviceMessage(method, params)) return decodeState(params.state)
    if (method !== 'event' || !isDeviceMessage(method, params)) return method
    const event = params.data.event[1] as DeviceEvent
    return kinds.map((kind) =>
      ucentralDriver.decodeEvent({ id, device: { mac, type: 'switch' }, kind, lastStep: null }, event),
    )
  },
  refusals: [],
}

const report = {
  uptime_s: 1,
  services: [{ name: 'tunterm', version: null, state: 'stopped' }],
  cpu_percent: null,
  memory: null,
  disk: { total: 2, free: 1 },
  addresses: ['192.0.2.1'],
}
const hello = { agent: '1', boot_id: 'a', model: null, serial: null, distro: null, methods: ['configure'] }
const order = {
  ...{ orgId: id, id, deviceId: id, epoch: '1', callId: 1024, mxedge: { name: 'Edge', model: 'ME-VM', doc: {} } },
  ...{ kind: 'service' as const, params: { service: 'tunterm', action: 'restart' as const } },
}

export const edge: Codec = {
  name: 'frames of edge appliances',
  frames: [
    encodeCall(1, 'hello', { ...hello, config_sha256: null, report }),
    encodeCall(2, 'report', report),
    encodeNotification('progress', { command_id: id, step: 'download', percent: 5 }),
    encodeResult(1024, { command_id: id, boot_id: 'a', repeated: false, text: 'done' }),
    encodeError(1024, { code: 2, message: 'failed', data: { command_id: id, boot_id: 'a' } }),
    encodeCall(1024, 'service.control', { command_id: id, ...order.params }),
  ].map((text) => Buffer.from(text)),
  decode(bytes) {
    const frame = decodeFrame(bytes.toString('utf8'))
    if (frame.kind === 'reply') return decodeEdgeReply(order, frame)
    if (frame.kind !== 'call') return frame.kind
    const { params } = frame
    return isHello(params) || isReport(params) || isProgress(params) ? params : frame.method
  },
  refusals: [],
}

const { services: _, ...routerReport } = report
const routerHello = {
  ...{ role: 'ssr', agent: '1', mac, boot_id: 'a', model: 'SSR120', serial: 'S', version: '6.1.0' },
  ...{ nodes: ['node0', 'node1'], methods: ['restart', 'stage', 'activate'] },
}

export const router: Codec = {
  name: 'frames of SSR routers',
  frames: [
    encodeCall(1, 'hello', { ...routerHello, report: routerReport }),
    encodeCall(2, 'report', routerReport),
    encodeResult(1024, { command_id: id, boot_id: 'a', repeated: false, text: 'done' }),
    encodeError(1024, { code: 1, message: 'refused', data: { command_id: id, boot_id: 'a' } }),
  ].map((text) => Buffer.from(text)),
  decode(bytes) {
    const frame = decodeFrame(bytes.toString('utf8'))
    if (frame.kind === 'reply') return routerDriver.decodeReply({ id }, frame)
    if (frame.kind !== 'call') return frame.kind
    if (isRouterHello(frame.params)) return { ...frame.params, ...routerDriver.capabilitiesOf(frame.params) }
    return isRouterReport(frame.params) ? frame.params : frame.method
  },
  refusals: [],
}

const forms: readonly JunosForm[] = ['single', 'virtual_chassis', 'cluster']
const requests = [
  '<get-system-information/>',
  '<get-chassis-mac-addresses/>',
  '<get-virtual-chassis-information/>',
  '<get-system-uptime-information/>',
  '<get-software-sets-information/>',
  '<get-sha256-checksum-information><path>/var/tmp/a</path></get-sha256-checksum-information>',
  '<request-package-add><package-name>/var/tmp/a</package-name></request-package-add>',
  '<request-package-rollback/>',
  '<request-snapshot/>',
  '<request-reboot/>',
  '<request-system-storage-cleanup/>',
  '<request-package-in-service-upgrade><package-name>/var/tmp/a</package-name></request-package-in-service-upgrade>',
  '<get-chassis-inventory/>',
  '<get-environment-information/>',
  '<get-firmware-information/>',
  '<get-route-engine-information/>',
  '<get-poe-controller-information/>',
]

async function listReplies(): Promise<string[]> {
  const download = () => Promise.reject(new Error('unused'))
  const bodies = forms.flatMap((form) =>
    requests.map(async (request) => {
      const device = createJunosDevice({ mac, model: 'ex4100-48p', form, nowMs: 0 })
      const { body } = await answerRpc(device, parseXml(request), { nowMs: 0, download })
      return `<rpc-reply xmlns:junos="urn:j" message-id="1">${body ?? ''}</rpc-reply>`
    }),
  )
  return Promise.all(bodies)
}

const replies = await listReplies()
const greeting = '<hello><capabilities><capability>urn:ietf:params:netconf:base:1.1</capability></capabilities></hello>'

const framings: readonly Codec[] = (['end_of_message', 'chunked'] as const satisfies Framing[]).map((framing) => ({
  name: `NETCONF framing ${framing}`,
  frames: replies.map((reply) => encodeMessage(reply, framing)),
  decode(bytes) {
    const decoder = new FrameDecoder(512 * 1024)
    decoder.setFraming(framing)
    const texts: string[] = []
    // The network cuts where it likes.
    for (let at = 0; at < bytes.length; at += 1000) {
      decoder.push(bytes.subarray(at, at + 1000))
      for (let text = decoder.next(); text !== null; text = decoder.next()) texts.push(text)
    }
    return texts
  },
  refusals: [FramingError],
}))

const xml: Codec = {
  name: 'XML',
  frames: [greeting, ...replies].map((text) => Buffer.from(text)),
  decode: (bytes) => decodeHello(parseXml(bytes.toString('utf8'))),
  refusals: [XmlError],
}

const preamble: Codec = {
  name: 'the preamble of outbound SSH',
  frames: [
    'MSG-ID: DEVICE-CONN-INFO\r\nMSG-VER: V1\r\nDEVICE-ID: a\r\nHOST-KEY: ssh-ed25519 AAAA\r\nHMAC: ab\r\nSSH-2.0-x\r\n',
    'MSG-ID:: DEVICE-CONN-INFO\n\nDEVICE-ID:: a\nSSH-2.0-x\r\n',
    'SSH-2.0-OpenSSH_9.6\r\n',
  ].map((text) => Buffer.from(text)),
  decode: (bytes) => new PreambleReader().read(bytes),
  refusals: [PreambleError],
}

const image = { version: '2.0.0', sha256: 'ab'.repeat(32), sizeBytes: 1000, signature: null }
const facts = { mac, model: 'EX4100-48P', serial: 'S', version: '1.0.0', type: 'switch', uptimeS: null } as const
const base = { ...facts, members: [], nodes: [], partUptimes: new Map<number, number>(), backup: null }

const member = {
  member: 0,
  isPresent: true,
  isMaster: true,
  isAnswering: true,
  serial: 'S',
  model: 'EX4100-48P',
  mac: '',
  version: '1',
}

const nodes = (['node0', 'node1'] as const).map((node) => ({ node, isPresent: true, serial: 'S', version: '1.0.0' }))
const chassis = { ...base, members: [member, { ...member, member: 1, isMaster: false, isAnswering: false }] }
const cluster = { ...base, model: 'SRX345', nodes }

/** Answers every request of a task with the same reply. No task may make requests forever. */
function runTask(task: Task<unknown>, reply: RpcReply): unknown {
  let next = task.next()
  for (let calls = 0; next.done !== true; calls += 1) {
    if (calls > 100) throw new Error('a task asks for ever')
    next = task.next(reply)
  }
  return next.value
}

export const junosReplies: Codec = {
  name: 'replies of Junos',
  frames: replies.map((text) => Buffer.from(text)),
  decode(bytes) {
    const decoded = decodeRpcReply(parseXml(bytes.toString('utf8')))
    if (decoded === null) return null
    const tasks = [
      readFacts(),
      ...[base, chassis, cluster].map((each) => readChanges(each, true)),
      readHardware({ ...base, members: [member] }),
      startTask({ kind: 'restart', member: 1 }, chassis),
      startTask({ kind: 'restart' }, cluster),
      startTask({ kind: 'stage', ...image, uri: 'https://example.test/a', localCertificates: false }, cluster),
      startTask({ kind: 'activate', ...image }, cluster),
      startTask({ kind: 'activate', ...image }, chassis),
      startTask({ kind: 'restore_backup', version: '1.0.0' }, chassis),
      startTask({ kind: 'restart' }, base),
      startTask({ kind: 'restart', node: 'node1' }, base),
      startTask({ kind: 'stage', ...image, uri: 'https://example.test/a', localCertificates: false }, base),
      startTask({ kind: 'activate', ...image }, base),
      startTask({ kind: 'restore_backup' }, base),
      startTask({ kind: 'snapshot' }, base),
    ]
    return tasks.map((task) => runTask(task, decoded.reply))
  },
  refusals: [XmlError],
}

/** Every codec of the gateway: a new protocol adds its own. */
export const codecs: readonly Codec[] = [ucentral, edge, router, ...framings, xml, preamble, junosReplies]
