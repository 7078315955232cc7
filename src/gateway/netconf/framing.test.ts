import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FrameDecoder, type Framing, FramingError, encodeMessage } from './framing.ts'

const MAX_BYTES = 4096
const framing = fc.constantFrom<Framing>('end_of_message', 'chunked')
const message = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }).filter((text) => !text.includes(']]>'))

function decoderOf(kind: Framing): FrameDecoder {
  const decoder = new FrameDecoder(MAX_BYTES)
  decoder.setFraming(kind)
  return decoder
}

/** Everything that comes out when the bytes arrive in parts of these sizes, which repeat. */
function decodeIn(kind: Framing, bytes: Buffer, sizes: readonly number[]): string[] {
  const decoder = decoderOf(kind)
  const messages: string[] = []
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1
    decoder.push(bytes.subarray(at, at + size))
    at += size
    for (let next = decoder.next(); next !== null; next = decoder.next()) messages.push(next)
  }
  expect(decoder.isEmpty).toBe(true)
  return messages
}

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 })

describe('a stream of messages', () => {
  test('decodes to what was encoded, wherever it is split', () => {
    fc.assert(
      fc.property(framing, fc.array(message, { maxLength: 5 }), sizes, (kind, messages, parts) => {
        const bytes = Buffer.concat(messages.map((text) => encodeMessage(text, kind)))
        expect(decodeIn(kind, bytes, parts)).toEqual(messages)
      }),
    )
  })

  test('may cut a message into chunks anywhere', () => {
    fc.assert(
      fc.property(message, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 60 }), sizes, (text, cuts, parts) => {
        const body = Buffer.from(text)
        const chunks: Buffer[] = []
        for (let at = 0, turn = 0; at < body.length; turn += 1) {
          const chunk = body.subarray(at, turn > 50 ? body.length : at + (cuts[turn] ?? 1))
          chunks.push(Buffer.from(`\n#${chunk.length}\n`), chunk)
          at += chunk.length
        }
        expect(decodeIn('chunked', Buffer.concat([...chunks, Buffer.from('\n##\n')]), parts)).toEqual([text])
      }),
    )
  })

  test('changes its framing after the hello', () => {
    const decoder = new FrameDecoder(MAX_BYTES)
    decoder.push(Buffer.concat([encodeMessage('<hello/>', 'end_of_message'), encodeMessage('<rpc/>', 'chunked')]))
    expect(decoder.next()).toBe('<hello/>')
    decoder.setFraming('chunked')
    expect(decoder.next()).toBe('<rpc/>')
    expect(decoder.next()).toBeNull()
  })

  test('either decodes or ends with a FramingError, whatever arrives', () => {
    const noise = fc.array(
      fc.oneof(
        fc.constantFrom(']]>]]>', ']]>', '\n#', '\n##\n', '\n#5\n', '\n#4294967295\n', '\n#0\n', '#', '\n'),
        fc.string({ maxLength: 30 }),
      ),
      { maxLength: 40 },
    )
    fc.assert(
      fc.property(framing, noise, sizes, (kind, parts, cuts) => {
        try {
          const decoder = decoderOf(kind)
          const bytes = Buffer.from(parts.join(''))
          for (let at = 0; at < bytes.length; at += cuts[0] ?? 1) {
            decoder.push(bytes.subarray(at, at + (cuts[0] ?? 1)))
            while (decoder.next() !== null);
          }
        } catch (error) {
          expect(error).toBeInstanceOf(FramingError)
        }
      }),
    )
  })
})

describe('a message ends the stream', () => {
  const failing = (kind: Framing, text: string): (() => void) => {
    const decoder = decoderOf(kind)
    return () => {
      decoder.push(Buffer.from(text))
      while (decoder.next() !== null);
    }
  }

  test.each<[string, Framing, string]>([
    ['that is too large', 'end_of_message', 'x'.repeat(MAX_BYTES + 1)],
    ['that is too large with its end', 'end_of_message', `${'x'.repeat(MAX_BYTES + 1)}]]>]]>`],
    ['that announces too large a chunk', 'chunked', `\n#${MAX_BYTES + 1}\n`],
    ['whose chunks are too large together', 'chunked', `\n#${MAX_BYTES}\n${'x'.repeat(MAX_BYTES)}\n#1\n`],
    ['with a chunk of eleven digits', 'chunked', '\n#11111111111\n'],
    ['with a chunk of size 0', 'chunked', '\n#0\n'],
    ['with a leading zero', 'chunked', '\n#05\n'],
    ['with a negative size', 'chunked', '\n#-5\n'],
    ['without a line feed', 'chunked', '#5\n'],
    ['without any chunk', 'chunked', '\n##\n'],
    ['in a thousand chunks of one byte', 'chunked', '\n#1\nx'.repeat(1000)],
    ['that still ends the old way', 'chunked', '<rpc-reply/>]]>]]>'],
  ])('%s', (_, kind, text) => {
    expect(failing(kind, text)).toThrow(FramingError)
  })
})

test('a hundred thousand small messages in one piece are decoded in linear time', () => {
  const decoder = new FrameDecoder(MAX_BYTES)
  decoder.push(Buffer.from('x]]>]]>'.repeat(100_000)))
  let count = 0
  while (decoder.next() !== null) count += 1
  expect(count).toBe(100_000)
})
