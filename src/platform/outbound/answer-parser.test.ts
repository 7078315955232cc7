import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AnswerHead, HttpAnswerParser, LastHead } from './answer-parser.ts'

interface Parsed extends Partial<AnswerHead> {
  readonly body: string
  readonly isComplete: boolean
  readonly keepMs: number
}

/** Parses an answer that arrives in these parts, and then the end of the connection if `ends`. */
function parse(parts: readonly Buffer[], ends = false, last = new LastHead()): Parsed {
  const heads: AnswerHead[] = []
  let body = ''
  const reader = {
    onHead: (head: AnswerHead) => heads.push(head),
    onBody: (part: Buffer) => (body += part.toString('latin1')),
  }
  const parser = new HttpAnswerParser(reader, last)
  const memory = Buffer.alloc(64 * 1024)
  for (const part of parts) {
    // As the memory of a connection, it is used again for the next part.
    part.copy(memory)
    parser.push(memory.subarray(0, part.length))
    memory.fill('!')
  }
  if (ends) parser.end()
  expect(heads.length).toBeLessThan(2)
  return { ...heads[0], body, isComplete: parser.isComplete, keepMs: parser.keepMs }
}

const parseText = (text: string, ends = false): Parsed => parse([Buffer.from(text, 'latin1')], ends)

/** Splits bytes at the given places. */
function splitAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const inOrder = [0, ...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]
  return inOrder.slice(1).map((end, index) => bytes.subarray(inOrder[index], end))
}

const chunked = (parts: readonly string[], trailers = ''): string =>
  `${parts.map((part) => `${part.length.toString(16)};x=1\r\n${part}\r\n`).join('')}0\r\n${trailers}\r\n`

const name = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,10}$/).map((text) => `X-${text}`)
const value = fc.stringMatching(/^(?:[!-~](?:[\t -~]{0,20}[!-~])?)?$/)
const text = fc.string({
  unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCodePoint(code)),
  maxLength: 300,
})

describe('an answer after another one of its origin', () => {
  const answer = fc.tuple(
    fc.constantFrom(
      'HTTP/1.1 200 OK\r\nContent-Length: 4',
      'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-A: b',
      'HTTP/1.1 201 OK\r\nContent-Length: 4',
      'HTTP/1.1 204 None',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked',
      'HTTP/1.0 200 OK',
      `HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-Long: ${'a'.repeat(2000)}`,
    ),
    fc.constantFrom('HTTP/1.1 100 Continue\r\n\r\n', ''),
    fc.constantFrom('4\r\nbody\r\n0\r\n\r\n', '4\r\nBODY\r\n0\r\nX: a\r\n\r\n'),
    fc.array(fc.nat(200), { maxLength: 3 }),
  )

  it('is parsed as if it were the first one', () => {
    fc.assert(
      fc.property(fc.array(answer, { maxLength: 6 }), (answers) => {
        const last = new LastHead()
        for (const [head, interim, chunks, places] of answers) {
          const body = head.includes('chunked') ? chunks : head.includes(' 204 ') ? '' : 'text'
          const bytes = splitAt(Buffer.from(`${interim}${head}\r\n\r\n${body}`, 'latin1'), places)
          expect(parse(bytes, true, last)).toEqual(parse(bytes, true))
        }
      }),
    )
  })

  it('has the same headers as an object if they are equal', () => {
    const last = new LastHead()
    const headersOf = (text: string) => parse([Buffer.from(text)], false, last).headers
    const first = headersOf('HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 0\r\n\r\n')
    expect(headersOf('HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 0\r\n\r\n')).toBe(first)
    expect(headersOf('HTTP/1.1 200 OK\r\nX-A: c\r\nContent-Length: 0\r\n\r\n')).not.toBe(first)
  })
})

describe('an answer', () => {
  it('is parsed alike however its bytes are split', () => {
    const framings = fc.constantFrom('fixed', 'chunked', 'until_end')
    const headers = fc.uniqueArray(fc.tuple(name, value), { selector: ([key]) => key.toLowerCase(), maxLength: 5 })
    const parts = fc.array(
      text.filter((part) => part !== ''),
      { maxLength: 4 },
    )
    const places = fc.array(fc.nat(4000), { maxLength: 8 })
    fc.assert(
      fc.property(
        framings,
        headers,
        parts,
        fc.record({ at: places, status: fc.integer({ min: 200, max: 599 }) }),
        (framing, fields, own, { at, status }) => {
          fc.pre(status !== 204 && status !== 304)
          const body = own.join('')
          const framed = {
            fixed: { header: `Content-Length: ${body.length}`, bytes: body },
            chunked: { header: 'Transfer-Encoding: chunked', bytes: chunked(own, 'X-Trailer: a\r\n') },
            until_end: { header: 'X-None: ', bytes: body },
          }[framing]
          const lines = [`HTTP/1.1 ${status} Some Text`, ...fields.map(([key, of]) => `${key}:  ${of} `), framed.header]
          const bytes = Buffer.from(`${lines.join('\r\n')}\r\n\r\n${framed.bytes}`, 'latin1')
          const parsed = parse(splitAt(bytes, at), framing === 'until_end')
          expect(parsed).toMatchObject({ status, body, isComplete: true, keepMs: framing === 'until_end' ? 0 : 1000 })
          expect(parsed.headers).toMatchObject(Object.fromEntries(fields.map(([key, of]) => [key.toLowerCase(), of])))
        },
      ),
    )
  })

  it('never throws anything but an error with a sentence, whatever the bytes are', () => {
    const pieces = fc.constantFrom(
      'HTTP/1.1 200 OK',
      '\r\n',
      ':',
      'Content-Length: 3',
      'Transfer-Encoding: chunked',
      '3',
      ' ',
    )
    fc.assert(
      fc.property(fc.array(fc.oneof(pieces, text), { maxLength: 12 }), (all) => {
        try {
          parseText(all.join(''))
        } catch (error) {
          expect(String(error)).toMatch(/^Error: (?:the|a) .*\banswer\b/)
        }
      }),
    )
  })

  it.each([
    ['no returns at all', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n'],
    ['another version', 'HTTP/2 200\r\n\r\n'],
    ['a line end without a return', 'HTTP/1.1 200 OK\nX: y\r\n\r\n'],
    ['a header without a name', 'HTTP/1.1 200 OK\r\n: y\r\n\r\n'],
    ['a space before the colon', 'HTTP/1.1 200 OK\r\nX : y\r\n\r\n'],
    ['a NUL in a value', 'HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n'],
    ['another protocol', 'HTTP/1.1 101 Switching\r\n\r\n'],
    ['no HTTP', 'SSH-2.0-OpenSSH'],
    ['headers without an end', `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(20_000)}`],
    ['endless interim answers', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1000)],
    ['a part without a size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'],
    ['a part that is longer than its size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n'],
    ['a size of many digits', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'1'.repeat(13)}\r\n`],
    ['endless trailers', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${'X: y\r\n'.repeat(2000)}`],
  ])('is refused: %s', (_what, bytes) => {
    expect(() => parseText(bytes)).toThrow(/HTTP\/1\.1|too long|protocol/)
  })

  it('follows interim answers', () => {
    const parsed = parseText('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nX: y\r\n\r\nHTTP/1.1 204 None\r\n\r\n')
    expect(parsed).toMatchObject({ status: 204, headers: {}, isComplete: true, keepMs: 1000 })
  })

  it('has a list of values for a header that comes more than once', () => {
    const parsed = parseText('HTTP/1.1 200 OK\r\nX: a\r\nx: b\r\nX: c\r\nContent-Length: 0\r\n\r\n')
    expect(parsed.headers).toMatchObject({ x: ['a', 'b', 'c'] })
  })

  it('has headers without the spaces and tabs around them, and with all others', () => {
    const parsed = parseText('HTTP/1.1 204 None\r\nA: \t b\tc \xc2\xa0\t \r\nB: \t \r\nC:\r\n\r\n')
    expect(parsed.headers).toEqual(Object.assign(Object.create(null), { a: 'b\tc \xa0', b: '', c: '' }))
  })

  it('has a header of several lines as one', () => {
    const parsed = parseText('HTTP/1.1 204 None\r\nA: b\r\n \tc\r\n\td\r\nE: f\r\n\r\n')
    expect(parsed.headers).toEqual(Object.assign(Object.create(null), { a: 'b c d', e: 'f' }))
  })

  it('has the text of a header that is UTF-8', () => {
    expect(parseText('HTTP/1.1 204 None\r\nA: gr\xc3\xbc\xc3\x9fe\r\n\r\n').headers).toMatchObject({ a: 'grüße' })
  })

  it.each([
    ['spaces before a wrong character', `A:${' '.repeat(16_000)}\x01`],
    ['spaces within a value', `A: b${' '.repeat(16_000)}c\x01`],
    ['the same header', 'A:\r\n'.repeat(4000)],
    ['a line that continues a header', `A: b${'\r\n '.repeat(5000)}\x01`],
  ])('takes little time for thousands of times %s', (_what, lines) => {
    const startedMs = performance.now()
    for (let times = 0; times < 50; times += 1) {
      try {
        parseText(`HTTP/1.1 200 OK\r\n${lines}\r\n\r\n`)
      } catch (error) {
        expect(String(error)).toMatch(/header/)
      }
    }
    expect(performance.now() - startedMs).toBeLessThan(3000)
  })

  it('keeps headers that have a meaning for objects', () => {
    expect(parseText('HTTP/1.1 204 None\r\n__proto__: a\r\nconstructor: b\r\n\r\n').headers).toEqual(
      Object.fromEntries([
        ['__proto__', 'a'],
        ['constructor', 'b'],
      ]),
    )
  })
})

describe('a connection', () => {
  it.each([
    ['Content-Length: 0', 1000],
    ['Content-Length: 0\r\nConnection: close', 0],
    ['Content-Length: 0\r\nConnection: Keep-Alive, Close', 0],
    ['Content-Length: 0\r\nKeep-Alive: timeout=5, max=10', 1000],
    ['Content-Length: 0\r\nKeep-Alive: max=10, timeout=2', 0],
    ['Content-Length: 0, 0', 1000],
    ['Content-Length: 0\r\nTransfer-Encoding: chunked', 0],
  ])('is kept after %j for %i ms', (headers, keepMs) => {
    const body = headers.includes('chunked') ? '0\r\n\r\n' : ''
    expect(parseText(`HTTP/1.1 200 OK\r\n${headers}\r\n\r\n${body}`)).toMatchObject({ isComplete: true, keepMs })
  })

  it('of HTTP/1.0 is kept only if the answer says so', () => {
    expect(parseText('HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n').keepMs).toBe(0)
    expect(parseText('HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n').keepMs).toBe(1000)
  })

  it.each(['Content-Length: 1\r\nContent-Length: 2', 'Content-Length: -1', 'Content-Length: 1x', 'Content-Length: '])(
    'is read until its end, and not used again, if the length is %j',
    (headers) => {
      const answer = `HTTP/1.1 200 OK\r\n${headers}\r\n\r\nab`
      expect(parseText(answer)).toMatchObject({ body: 'ab', isComplete: false })
      expect(parseText(answer, true)).toMatchObject({ body: 'ab', isComplete: true, keepMs: 0 })
    },
  )

  it('is not used again if bytes follow the answer, or the answer may not have the body that it announces', () => {
    expect(parseText('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc')).toMatchObject({ body: 'a', keepMs: 0 })
    expect(parseText('HTTP/1.1 204 None\r\nContent-Length: 5\r\n\r\n')).toMatchObject({ isComplete: true, keepMs: 0 })
  })

  it('that ends early leaves the answer incomplete', () => {
    expect(parseText('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab', true)).toMatchObject({ isComplete: false })
    expect(parseText('HTTP/1.1 200 OK\r\nX: y', true)).toMatchObject({ isComplete: false })
  })
})
