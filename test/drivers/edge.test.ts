import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { describe } from 'vitest'
import { decodeReply, encodeOrder } from '../../src/gateway/edge/driver.ts'
import { defaultLimits } from '../../src/gateway/edge/limits.ts'
import { FAMILY } from '../../src/gateway/edge/protocol.ts'
import type { MxedgeOrder } from '../../src/mxedges/commands/command.ts'
import type { MxedgeCommandToSend } from '../../src/mxedges/commands/store.ts'
import { describeCodec } from './codec-suite.ts'
import { edgeHello, openEdgePeer, rowsOfEdges } from './edge-peer.ts'
import { type LinkSamples, describeLinks, openLinkWorld } from './link-suite.ts'

const id = '00000000-0000-4000-8000-000000000000'
const about = { command_id: id, boot_id: 'first-boot' }
const aboutAnother = { ...about, command_id: '00000000-0000-4000-8000-000000000001' }
const row = { orgId: id, id, deviceId: id, epoch: '1', callId: 1024, mxedge: { name: 'Edge', model: 'ME-VM', doc: {} } }
const image = { uri: `https://example.test/${'a'.repeat(500)}`, sizeBytes: 1000, sha256: 'ab'.repeat(32) }
const upgrade = { service: 'tunterm', version: '2.0.0', image_id: randomUUID(), from_version: '1.0.0' }
const distro = { codename: 'next', from: 'bookworm' }
const restart: MxedgeOrder = { kind: 'service', params: { service: 'tunterm', action: 'restart' } }
const orders: readonly MxedgeOrder[] = [
  restart,
  { kind: 'bounce_port', params: { ports: ['0', '1'], hold_ms: 4000 } },
  { kind: 'disconnect_aps', params: { macs: ['5c5b350e0001'] } },
  { kind: 'configure', params: {} },
  { kind: 'stage_package', params: upgrade },
  { kind: 'upgrade_service', params: upgrade },
  { kind: 'stage_distro', params: distro },
  { kind: 'upgrade_distro', params: distro },
  { kind: 'support', params: {} },
]
const largest: MxedgeOrder = { kind: 'disconnect_aps', params: { macs: Array(1000).fill('5c5b350e0001') as string[] } }
const HOUR_MS = 3_600_000

function commandOf(order: MxedgeOrder): MxedgeCommandToSend {
  return { ...row, ...order }
}

describe('the messages to edge appliances', () => {
  describeCodec(
    {
      encode: (order: MxedgeCommandToSend) =>
        encodeOrder(order, { image: { ...image, signature: null }, uploadUri: () => image.uri }),
      decodeReply,
    },
    {
      orders: fc.constantFrom(...orders, largest).map(commandOf),
      order: commandOf(restart),
      success: (text) => ({ result: { ...about, repeated: false, text }, error: undefined }),
      refusal: (text) => ({ result: undefined, error: { code: 1, message: text, data: about } }),
      repliesToAnother: [
        { result: { ...aboutAnother, repeated: false, text: 'fine' }, error: undefined },
        { result: undefined, error: { code: 1, message: 'not now', data: aboutAnother } },
      ],
      strangeReply: (value) => ({ result: value, error: value }),
      strangeEvent: (value) => value,
      sizeOf: (call) => Buffer.byteLength(JSON.stringify(call)),
      maxCallBytes: 31 * 1024,
      // The upgrade of a distribution, after a hook that an earlier process of the agent has left.
      maxWaitMs: 3 * HOUR_MS,
    },
  )
})

const links: LinkSamples<MxedgeOrder> = {
  family: FAMILY,
  rows: rowsOfEdges,
  recorded: { boot_id: edgeHello.boot_id, methods: edgeHello.methods },
  orders,
  losable: restart,
  helloMs: defaultLimits.helloMs,
  open: openEdgePeer,
}

describe('of edge appliances', () => describeLinks(links, openLinkWorld(links)))
