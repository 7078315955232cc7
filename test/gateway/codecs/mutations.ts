import fc from 'fast-check'
import type { Codec } from './codecs.ts'

/** No transport of the gateway delivers a larger message. */
export const MAX_BYTES = 512 * 1024

export const hostile = [
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

/** Changes of a frame that a hostile device may think of. */
function mutationOf({ frames }: Pick<Codec, 'frames'>): fc.Arbitrary<Mutation> {
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

/** Frames of the codec, each with some mutations, at most MAX_BYTES long. */
export function mutatedFrameOf(codec: Pick<Codec, 'frames'>): fc.Arbitrary<Buffer> {
  return fc
    .tuple(fc.constantFrom(...codec.frames), fc.array(mutationOf(codec), { minLength: 1, maxLength: 5 }))
    .map(([frame, mutations]) => mutations.reduce((mutated, mutate) => mutate(mutated), frame).subarray(0, MAX_BYTES))
}
