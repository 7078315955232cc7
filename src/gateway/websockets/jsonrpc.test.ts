import { deflateSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  MAX_INFLATED_BYTES,
  compressParams,
  decodeEnvelope,
  decodeFrame,
  encodeCall,
  encodeNotification,
  encodeResult,
  inflateCall,
} from './jsonrpc.ts'
import { MAX_CALL_ID } from '../commands/call-ids.ts'

const params = fc.dictionary(
  fc.string().filter((key) => key !== '__proto__' && key !== 'compress_64'),
  fc.jsonValue(),
)
/** Returns the value as the decoder delivers it: without the characters that PostgreSQL can't store. */
const storable = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll(/(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g, '$1\ufffd'))
const method = fc.stringMatching(/^[a-z.-]{1,20}$/)

const compressed = (text: string): string =>
  JSON.stringify({ method: 'state', params: { compress_64: deflateSync(text).toString('base64') } })

describe('decodeFrame', () => {
  test('decodes what the encoders write', () => {
    fc.assert(
      fc.property(method, params, fc.integer({ min: 2, max: MAX_CALL_ID }), (name, body, id) => {
        expect(decodeFrame(encodeCall(id, name, body))).toEqual({
          kind: 'call',
          id,
          method: name,
          params: storable(body),
        })
        expect(decodeFrame(encodeNotification(name, body))).toMatchObject({ kind: 'call', id: null, method: name })
        expect(decodeFrame(encodeResult(id, body))).toEqual({
          kind: 'reply',
          id,
          result: storable(body),
          error: undefined,
        })
      }),
    )
  })

  test('decodes compressed params', () => {
    fc.assert(
      fc.property(params, (body) => {
        const frame = decodeFrame(encodeNotification('state', compressParams(body)))
        expect(frame).toEqual({ kind: 'call', id: null, method: 'state', params: storable(body) })
      }),
    )
  })

  test.each([undefined, null, -1, 0, 0.5, 63, 1999, 2000, 16_384, 20_000, 1e5, '2000'])(
    'decodes compressed params of another size than the stated %j',
    (size) => {
      const body = { text: 'x'.repeat(2000), more: Array.from({ length: 3000 }, (_, index) => index) }
      const packed = { ...compressParams(body), compress_sz: size }
      const frame = decodeFrame(encodeNotification('state', packed))
      expect(frame).toEqual({ kind: 'call', id: null, method: 'state', params: body })
    },
  )

  test('distinguishes the packets of a RADIUS proxy from malformed frames', () => {
    for (const kind of ['auth', 'acct', 'coa'])
      expect(decodeFrame(JSON.stringify({ radius: kind, data: 'AQAAFA==', dst: '192.0.2.1' }))).toEqual({
        kind: 'radius',
      })
    expect(decodeFrame('{"radius":7,"data":""}').kind).toBe('malformed')
    expect(decodeFrame('{"radius":"auth","method":"ping"}').kind).toBe('call')
  })

  test('never throws', () => {
    fc.assert(fc.property(fc.string(), (text) => void decodeFrame(text)))
    fc.assert(fc.property(fc.json(), (text) => void decodeFrame(text)))
    expect(decodeFrame(`{"method":"a","params":${'['.repeat(100_000)}`).kind).toBe('malformed')
  })

  test.each([
    ['', 'not a JSON object'],
    ['null', 'not a JSON object'],
    ['[]', 'not a JSON object'],
    ['{}', 'neither call nor reply'],
    ['{"id":2}', 'neither call nor reply'],
    ['{"id":"2","result":{}}', 'neither call nor reply'],
    ['{"method":"a","id":"x"}', 'id is not an integer'],
    ['{"method":"a","params":[]}', 'params is not an object'],
    ['{"method":"a","params":{"compress_64":7}}', 'compressed params: not readable'],
    ['{"method":"a","params":{"compress_64":"AAAA"}}', 'compressed params: not readable'],
    ['{"method":"a","params":{"compress_64":"AAAA","compress_sz":524289}}', 'compressed params: too large'],
    [compressed('[]'), 'compressed params: not a JSON object'],
  ])('reports %s as malformed: %s', (text, why) => {
    expect(decodeFrame(text)).toEqual({ kind: 'malformed', why })
  })

  test('does not inflate a bomb', () => {
    const bomb = compressed(' '.repeat(MAX_INFLATED_BYTES + 1))
    expect(bomb.length).toBeLessThan(8192)
    expect(decodeFrame(bomb)).toEqual({ kind: 'malformed', why: 'compressed params: not readable' })
  })

  test.each([
    ['values', '{},'.repeat(20_000)],
    ['lists', '[],'.repeat(20_000)],
    ['nested lists', '['.repeat(20_001)],
    ['members', Array.from({ length: 20_001 }, (_, index) => `"k${index}":0`).join(',')],
    ['escapes', String.raw`\u0000`.repeat(20_001)],
  ])('does not parse 20,001 %s', (_, text) => {
    expect(decodeFrame(`{"method":"state","params":{"a":${text}}}`)).toEqual({
      kind: 'malformed',
      why: 'more than 20000 values',
    })
    expect(decodeFrame(compressed(`{"a":${text}}`))).toEqual({
      kind: 'malformed',
      why: 'compressed params: more than 20000 values',
    })
  })

  test('returns the inflated size, and leaves ignored compressed params packed', () => {
    const call = decodeEnvelope(compressed('{"a":1}'))
    expect(call).toMatchObject({ kind: 'packed', method: 'state', id: null })
    if (call.kind !== 'packed') throw new Error('unreachable: it is')
    expect(inflateCall(call)).toEqual({
      frame: { kind: 'call', id: null, method: 'state', params: { a: 1 } },
      inflatedBytes: 7,
    })
    expect(inflateCall({ ...call, packed: 'AAAA' }).inflatedBytes).toBe(MAX_INFLATED_BYTES)
  })

  test("keeps surrogate pairs and escaped backslashes, and replaces characters that can't be stored", () => {
    const text = String.raw`{"method":"a","params":{"t":"\u0000 \\u0000 \ud83d\ude00 \ud83d \ude00"}}`
    expect(decodeFrame(text)).toMatchObject({ params: { t: '\ufffd \\u0000 \u{1f600} \ufffd \ufffd' } })
  })

  test('decodes invalid numbers as null, and keeps texts unchanged', () => {
    const text = String.raw`{"method":"a","params":{"l":[-inf,inf,nan,1],"t":"\"-inf, \\","inf":-NaN}}`
    const params = { l: [null, null, null, 1], t: '"-inf, \\', inf: null }
    expect(decodeFrame(text)).toEqual({ kind: 'call', id: null, method: 'a', params })
    expect(decodeFrame('{"method":"a","params":{"l":[info]}}').kind).toBe('malformed')
  })

  test.each([
    ['escaped quotes', `inf "${'\\"'.repeat(250_000)}`],
    ['quotes', `inf ${'"'.repeat(500_001)}`],
    ['a backslash at the end', `inf "${'\\"'.repeat(250_000)}\\`],
  ])('spends little time on a text that is never terminated: %s', (_what, text) => {
    const startedMs = performance.now()
    expect(decodeFrame(text).kind).toBe('malformed')
    expect(performance.now() - startedMs).toBeLessThan(1000)
  })
})
