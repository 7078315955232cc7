import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { EncodedCommand, Outcome, Rejection } from '../../src/gateway/driver.ts'

/** How the commands of one sort become calls, and what is understood of the answers. */
export interface Codec<Order, Call, Reply> {
  encode(order: Order): EncodedCommand<Call> | Rejection
  decodeReply(order: Order, reply: Reply): Outcome | null
  /** Absent if the peers report nothing about commands but replies. */
  decodeEvent?(order: Order, event: unknown): Outcome | null
}

/** The samples of a codec for the suite. */
export interface CodecSamples<Order, Call, Reply> {
  /** Commands that the peer can execute, and a single one of them. */
  readonly orders: fc.Arbitrary<Order>
  readonly order: Order
  /** A reply by which the peer has executed the single command, and one by which it has refused it; `text` is its own. */
  readonly success: (text: string) => Reply
  readonly refusal: (text: string) => Reply
  /** Both of them about another command; absent if the replies of the peers name no command. */
  readonly repliesToAnother?: readonly Reply[]
  /** Replies and events with a valid outer shape and the value as their content. */
  readonly strangeReply: (value: unknown) => Reply
  readonly strangeEvent: (value: unknown) => unknown
  /** The size of the call on the wire, in bytes. */
  readonly sizeOf: (call: Call) => number
  readonly maxCallBytes: number
  /** The longest wait for an answer. */
  readonly maxWaitMs: number
}

/** Tests what all codecs share, whatever their protocol and the sort of their peers. */
export function describeCodec<Order, Call, Reply>(
  codec: Codec<Order, Call, Reply>,
  samples: CodecSamples<Order, Call, Reply>,
): void {
  const { orders, order: sent } = samples

  test('encodes each command that the peer can execute as a call with a bounded wait', () => {
    fc.assert(
      fc.property(orders, (order) => {
        const encoded = codec.encode(order)
        if (encoded.kind === 'rejected') throw new Error(encoded.text)
        expect(encoded.timeoutMs).toBeGreaterThan(0)
        expect(encoded.timeoutMs).toBeLessThanOrEqual(samples.maxWaitMs)
        expect(samples.sizeOf(encoded.call)).toBeLessThan(samples.maxCallBytes)
      }),
    )
  })

  test('distinguishes success from refusal, and keeps the reason', () => {
    expect(codec.decodeReply(sent, samples.success('fine'))?.kind).toBe('done')
    const refused = codec.decodeReply(sent, samples.refusal('not now'))
    expect(refused).toMatchObject({ kind: 'rejected', text: expect.stringContaining('not now') })
  })

  const { repliesToAnother = [] } = samples
  for (const reply of repliesToAnother)
    test(`takes no reply about another command for its own: ${JSON.stringify(reply)}`, () => {
      expect(codec.decodeReply(sent, reply)).toBeNull()
    })

  test('never throws at what a peer sends, and never takes nonsense for success', () => {
    fc.assert(
      fc.property(orders, fc.anything(), (order, value) => {
        for (const outcome of [
          codec.decodeReply(order, samples.strangeReply(value)),
          codec.decodeEvent?.(order, samples.strangeEvent(value)) ?? null,
        ])
          expect(outcome === null || outcome.kind === 'rejected').toBe(true)
      }),
    )
  })

  test('bounds the words of the peer that end up in the database', () => {
    const text = 'x'.repeat(100_000)
    for (const reply of [samples.success(text), samples.refusal(text)])
      expect(JSON.stringify(codec.decodeReply(sent, reply)).length).toBeLessThan(1000)
  })
}
