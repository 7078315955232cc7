// Feeds mutated frames of real devices to every codec of the gateway.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Codec, codecs } from './codecs.ts'

/** No transport of the gateway delivers a larger message. */
const MAX_BYTES = 512 * 1024
/** Of the processor; a message of the largest size takes a fraction of it. */
const MAX_DECODE_MS = 2000
/** What a decoder keeps of a message, as JSON, in proportion to its bytes. */
const MAX_GROWTH = 8

const hostile = [
  '\u0000',
  '<!DOCTYPE a [<!ENTITY b "c">]>',
  '&b;',
  ']]>]]>',
  '\n##\n',
  '\n#4294967295\n',
  '{"a":',
  '[[[[',
  '-1e999',
  '"\\ud800"',
  '__proto__',
  '</rpc-reply>',
  'SSH-',
  '\r\n',
].map((text) => Buffer.from(text))

type Mutation = (bytes: Buffer) => Buffer

/** Positions are fractions, so that they fit every frame. */
const at = fc.double({ min: 0, max: 1, noNaN: true })
const place = (bytes: Buffer, fraction: number): number => Math.floor(fraction * bytes.length)

function mutationOf({ frames }: Codec): fc.Arbitrary<Mutation> {
  const splice = (bytes: Buffer, from: number, to: number, middle: Buffer): Buffer => {
    const [start, end] = [place(bytes, Math.min(from, to)), place(bytes, Math.max(from, to))]
    return Buffer.concat([bytes.subarray(0, start), middle, bytes.subarray(end)])
  }
  return fc.oneof(
    fc.tuple(at, fc.nat(255)).map(
      ([where, byte]): Mutation =>
        (bytes) =>
          splice(bytes, where, where, Buffer.from([byte])),
    ),
    fc.tuple(at, at).map(
      ([from, to]): Mutation =>
        (bytes) =>
          splice(bytes, from, to, Buffer.alloc(0)),
    ),
    fc.tuple(at, fc.constantFrom(...hostile)).map(
      ([where, text]): Mutation =>
        (bytes) =>
          splice(bytes, where, where, text),
    ),
    fc.tuple(at, at, fc.constantFrom(...frames), at, at).map(([from, to, other, start, end]): Mutation => {
      const middle = other.subarray(place(other, Math.min(start, end)), place(other, Math.max(start, end)))
      return (bytes) => splice(bytes, from, to, middle)
    }),
    fc.tuple(at, at, fc.integer({ min: 2, max: 1000 })).map(([from, to, times]): Mutation => (bytes) => {
      const [start, end] = [place(bytes, Math.min(from, to)), place(bytes, Math.max(from, to))]
      const part = bytes.subarray(start, end)
      const count = Math.min(times, Math.floor((MAX_BYTES - bytes.length) / Math.max(1, part.length)))
      return splice(bytes, to, to, Buffer.concat(Array.from({ length: Math.max(0, count) }, () => part)))
    }),
  )
}

/** Throws for a defect: an error other than the codec's refusals, too much time, or too much to keep. */
function feed({ decode, refusals }: Codec, bytes: Buffer): void {
  const before = process.cpuUsage()
  let kept: unknown = null
  try {
    kept = decode(bytes)
  } catch (error) {
    if (!refusals.some((refusal) => error instanceof refusal)) throw error
  }
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1000).toBeLessThan(MAX_DECODE_MS)
  expect((JSON.stringify(kept) ?? '').length).toBeLessThan(MAX_GROWTH * (bytes.length + 10_000))
}

describe.each(codecs)('$name', (codec) => {
  test('decodes what real devices send', () => {
    for (const frame of codec.frames) expect(() => codec.decode(frame)).not.toThrow()
  })

  test('refuses or decodes each mutation of it, in bounded time and memory', { timeout: 120_000 }, () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...codec.frames),
        fc.array(mutationOf(codec), { minLength: 1, maxLength: 5 }),
        (frame, mutations) => {
          const bytes = mutations.reduce((mutated, mutate) => mutate(mutated), frame)
          feed(codec, bytes.subarray(0, MAX_BYTES))
        },
      ),
      { numRuns: 2000, interruptAfterTimeLimit: 60_000, markInterruptAsFailure: false },
    )
  })

  test('leaves nothing of a hostile message behind for the next one', () => {
    const clean = codec.frames.map((frame) => JSON.stringify(codec.decode(frame)))
    for (const frame of codec.frames)
      for (const text of hostile) feed(codec, Buffer.concat([frame.subarray(0, frame.length / 2), text, frame]))
    expect(codec.frames.map((frame) => JSON.stringify(codec.decode(frame)))).toEqual(clean)
    expect(Object.keys(Object.prototype)).toEqual([])
  })
})
