// Feeds mutated frames of real devices to every codec of the gateway.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Codec, codecs } from './codecs.ts'
import { hostile, mutatedFrameOf } from './mutations.ts'

/** Processor time; a message of the largest size takes a fraction of it. */
const MAX_DECODE_MS = 2000
/** The size of the decoded value of a message, as JSON, in proportion to its bytes. */
const MAX_GROWTH = 8

/** Throws for a defect: an error other than the codec's refusals, too much time, or too much memory. */
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
      fc.property(mutatedFrameOf(codec), (bytes) => feed(codec, bytes)),
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
