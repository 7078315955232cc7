import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { configurationSha256 } from '../../mxedges/commands/configuration.ts'
import type { MxedgeCommandToSend } from '../../mxedges/commands/store.ts'
import { decodeFrame, encodeCall, encodeError, encodeResult } from '../websockets/jsonrpc.ts'
import { decodeReply, encodeOrder } from './driver.ts'
import { isHello, isMethod, isParamsOf, isProgress, isReport } from './messages.ts'

const id = '0193a1c0-0000-7000-8000-000000000004'
const row = { orgId: id, id, deviceId: id, epoch: '1', callId: 1024, mxedge: { name: 'Edge', model: 'ME-VM', doc: {} } }
const orders: readonly MxedgeCommandToSend[] = [
  { ...row, kind: 'service', params: { service: 'tunterm', action: 'restart' } },
  { ...row, kind: 'bounce_port', params: { ports: ['0', '1'], hold_ms: 4000 } },
  { ...row, kind: 'disconnect_aps', params: { macs: ['5c5b350e0001'] } },
  { ...row, kind: 'configure', params: {} },
  {
    ...row,
    kind: 'upgrade_service',
    params: { service: 'tunterm', version: '2:1.0~rc1+b-2', image_id: id, from_version: null },
  },
  { ...row, kind: 'upgrade_distro', params: { codename: 'next', from: 'bookworm' } },
  { ...row, kind: 'support', params: {} },
]
const uploadUri = () => 'https://signalbox.example/support-files/a'
const image = {
  uri: 'https://signalbox.example/firmware/a',
  sizeBytes: 5,
  sha256: 'ab'.repeat(32),
  signature: `${'A'.repeat(86)}==`,
}
function callOf(order: MxedgeCommandToSend) {
  const encoded = encodeOrder(order, { image, uploadUri })
  if (encoded.kind === 'rejected') throw new Error(encoded.text)
  return encoded
}
const report = {
  uptime_s: 1,
  services: [{ name: 'tunterm', version: null, state: 'stopped' }],
  cpu_percent: null,
  memory: null,
  disk: { total: 2, free: 1 },
  addresses: ['192.0.2.1'],
}
const hello = {
  agent: '1',
  boot_id: 'a',
  model: null,
  serial: null,
  distro: null,
  methods: ['configure'],
  config_sha256: null,
  report,
}
const about = { command_id: id, boot_id: 'a' }
const frames = [
  encodeCall(1, 'hello', hello),
  encodeCall(2, 'report', report),
  encodeResult(1024, { ...about, repeated: false, text: 'done' }),
  encodeCall(3, 'progress', { command_id: id, step: 'download', percent: 40 }),
  encodeError(1024, { code: 2, message: 'failed', data: about }),
  ...orders.map((order) => {
    const { call } = callOf(order)
    return encodeCall(order.callId, call.method, call.params)
  }),
]

test.each(orders)('the call of $kind is one that the agent understands, with the id of its command', (order) => {
  const { call, timeoutMs } = callOf(order)
  expect(isMethod(call.method) && isParamsOf(call.method, call.params)).toBe(true)
  expect(call.params.command_id).toBe(id)
  expect(timeoutMs).toBeGreaterThan(0)
})

test('a package is sent with what the agent checks it by, and not at all once its image is deleted', () => {
  const order = orders.find(({ kind }) => kind === 'upgrade_service') ?? expect.fail()
  expect(callOf(order).call.params).toMatchObject({
    service: 'tunterm',
    version: '2:1.0~rc1+b-2',
    artifact: { uri: image.uri, size: 5, sha256: image.sha256, signature: image.signature },
  })
  expect(encodeOrder(order, { image: null, uploadUri })).toMatchObject({
    kind: 'rejected',
    code: 'image_deleted',
    final: true,
  })
})

test.each([
  ['service.upgrade', { service: 'tunterm', version: '--force' }],
  ['service.upgrade', { service: 'tunterm', version: '1 2' }],
  ['service.upgrade', { service: '../x', version: '1' }],
  ['distro.upgrade', { codename: '-y', from: null }],
  ['stage', {}],
] as const)(
  '%s with %j is refused, because the operator has to get arguments that are not options',
  (method, params) => {
    const artifact = method === 'stage' ? { size: 5 } : { uri: image.uri, size: 5, sha256: image.sha256 }
    expect(isParamsOf(method, { command_id: id, artifact, ...params })).toBe(false)
  },
)

test('the digest of a configuration depends on its content alone', () => {
  expect(configurationSha256({ a: 1, b: { c: 2, d: [1, 2] } })).toBe(
    configurationSha256({ b: { d: [1, 2], c: 2 }, a: 1 }),
  )
  expect(configurationSha256({ a: [1, 2] })).not.toBe(configurationSha256({ a: [2, 1] }))
})

describe('a damaged frame', () => {
  /** Replaces, removes or doubles a few characters. */
  const damaged = fc
    .tuple(
      fc.constantFrom(...frames),
      fc.array(
        fc.tuple(fc.nat(4000), fc.constantFrom('', '"', '}', '[', '\\', '9', '-1e999', 'null', '\u0000', ',,')),
        {
          minLength: 1,
          maxLength: 6,
        },
      ),
    )
    .map(([frame, changes]) =>
      changes.reduce((text, [at, put]) => {
        const place = at % text.length
        return text.slice(0, place) + put + text.slice(place + (put.length % 2))
      }, frame),
    )

  test('never throws, and is taken for success only if it says just that', () => {
    fc.assert(
      fc.property(damaged, (text) => {
        const frame = decodeFrame(text)
        if (frame.kind === 'call') {
          isHello(frame.params)
          isReport(frame.params)
          isProgress(frame.params)
          if (isMethod(frame.method)) isParamsOf(frame.method, frame.params)
        }
        if (frame.kind !== 'reply') return
        const outcome = decodeReply({ id }, frame)
        if (outcome?.kind === 'done') expect(frame.result).toMatchObject({ command_id: id })
      }),
      { numRuns: 3000 },
    )
  })
})

describe('a reply', () => {
  test.each([
    [{ result: { ...about, repeated: true, text: 'x' }, error: undefined }, 'done'],
    [{ result: undefined, error: { code: 1, message: 'no', data: about } }, 'rejected'],
    [{ result: undefined, error: { code: -32_601, message: 'unknown' } }, 'rejected'],
  ])('%j ends the command as %s', (reply, kind) => {
    expect(decodeReply({ id }, reply)?.kind).toBe(kind)
  })

  test.each([
    { result: { ...about, command_id: id.replace('4', '5'), repeated: false, text: 'x' }, error: undefined },
    { result: {}, error: undefined },
    { result: undefined, error: { code: 2, message: 'about no command' } },
    { result: undefined, error: 'failed' },
  ])('%j ends nothing', (reply) => {
    expect(decodeReply({ id }, reply)).toBeNull()
  })

  test('has its text bounded, and without addresses', () => {
    const text = `see https://box.example/?token=s3cret ${'x'.repeat(90_000)}`
    const outcome = decodeReply({ id }, { result: { ...about, repeated: false, text }, error: undefined })
    expect(outcome).toMatchObject({ kind: 'done', text: expect.not.stringContaining('s3cret') })
    expect(JSON.stringify(outcome).length).toBeLessThan(1000)
  })
})
