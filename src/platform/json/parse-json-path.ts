import type { Expression, JsonPath, Literal, Operator, Segment, Selector, SingularPath } from './json-path.ts'

/** Why a text is not a JSONPath of the subset. The message names the place. */
export class JsonPathError extends Error {
  override readonly name = 'JsonPathError'
}

/** Nested parentheses and negations; each uses the stack. */
const MAX_DEPTH = 20

interface Reader {
  readonly text: string
  at: number
  depth: number
}

/** @throws JsonPathError */
export function parseJsonPath(text: string): JsonPath {
  const reader: Reader = { text, at: 0, depth: 0 }
  expect(reader, '$')
  const segments: Segment[] = []
  while (reader.at < text.length) segments.push(readSegment(reader))
  return segments
}

function fail(reader: Reader, expected: string): never {
  const { text, at } = reader
  const found = at < text.length ? JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0)) : 'the end'
  throw new JsonPathError(`expected ${expected} at character ${at + 1}, found ${found}`)
}

function skipBlank(reader: Reader): void {
  match(reader, /[ \t\n\r]*/y)
}

/** Consumes the match of the sticky expression; null, and nothing is consumed, if it does not match. */
function match(reader: Reader, pattern: RegExp): string | null {
  pattern.lastIndex = reader.at
  const [found = null] = pattern.exec(reader.text) ?? []
  if (found !== null) reader.at += found.length
  return found
}

function accept(reader: Reader, token: string): boolean {
  if (!reader.text.startsWith(token, reader.at)) return false
  reader.at += token.length
  return true
}

function expect(reader: Reader, token: string): void {
  if (!accept(reader, token)) fail(reader, `"${token}"`)
}

const name = /[A-Za-z_\u{80}-\u{d7ff}\u{e000}-\u{10ffff}][0-9A-Za-z_\u{80}-\u{d7ff}\u{e000}-\u{10ffff}]*/uy

function readSegment(reader: Reader): Segment {
  skipBlank(reader)
  if (accept(reader, '.')) return [accept(reader, '*') ? { kind: 'all' } : { kind: 'name', name: readName(reader) }]
  if (!accept(reader, '[')) fail(reader, '"." or "["')
  const selectors: Selector[] = []
  do {
    skipBlank(reader)
    selectors.push(readSelector(reader))
    skipBlank(reader)
  } while (accept(reader, ','))
  expect(reader, ']')
  return selectors
}

function readName(reader: Reader): string {
  return match(reader, name) ?? fail(reader, 'a name')
}

function readSelector(reader: Reader): Selector {
  if (accept(reader, '*')) return { kind: 'all' }
  if (accept(reader, '?')) {
    skipBlank(reader)
    return { kind: 'filter', expression: readOr(reader) }
  }
  const step = readStep(reader)
  return typeof step === 'number' ? { kind: 'index', index: step } : { kind: 'name', name: step }
}

function readStep(reader: Reader): string | number {
  return readString(reader) ?? readInteger(reader) ?? fail(reader, 'a quoted name, an index, "*" or "?"')
}

function readInteger(reader: Reader): number | null {
  const digits = match(reader, /0|-?[1-9][0-9]{0,14}/y)
  return digits === null ? null : Number(digits)
}

function readOr(reader: Reader): Expression {
  return readList(reader, 'or', '||', (of) => readList(of, 'and', '&&', readBasic))
}

function readList(
  reader: Reader,
  kind: 'or' | 'and',
  token: string,
  readPart: (reader: Reader) => Expression,
): Expression {
  const first = readPart(reader)
  const parts = [first]
  for (skipBlank(reader); accept(reader, token); skipBlank(reader)) {
    skipBlank(reader)
    parts.push(readPart(reader))
  }
  return parts.length === 1 ? first : { kind, parts }
}

function readBasic(reader: Reader): Expression {
  if (accept(reader, '!')) {
    skipBlank(reader)
    const isNested = reader.text.startsWith('(', reader.at)
    return { kind: 'not', part: isNested ? readNested(reader) : { kind: 'exists', path: readPath(reader) } }
  }
  return reader.text.startsWith('(', reader.at) ? readNested(reader) : readTest(reader)
}

function readNested(reader: Reader): Expression {
  if (reader.depth >= MAX_DEPTH) fail(reader, `at most ${MAX_DEPTH} nested parentheses`)
  expect(reader, '(')
  reader.depth += 1
  skipBlank(reader)
  const expression = readOr(reader)
  skipBlank(reader)
  expect(reader, ')')
  reader.depth -= 1
  return expression
}

/** The equivalent operator for exchanged sides. */
const exchanged: Record<Operator, Operator> = { '==': '==', '!=': '!=', '<': '>', '<=': '>=', '>': '<', '>=': '<=' }

function readTest(reader: Reader): Expression {
  const literal = readLiteral(reader)
  if (literal !== undefined) {
    const operator = readOperator(reader) ?? fail(reader, 'a comparison')
    return { kind: 'compare', path: readPath(reader), operator: exchanged[operator], literal }
  }
  const path = readPath(reader)
  const operator = readOperator(reader)
  if (operator === null) return { kind: 'exists', path }
  const right = readLiteral(reader)
  return { kind: 'compare', path, operator, literal: right === undefined ? fail(reader, 'a literal') : right }
}

/** Reads the operator with the blanks around it. */
function readOperator(reader: Reader): Operator | null {
  const before = reader.at
  skipBlank(reader)
  const found = match(reader, /==|!=|<=|>=|<|>/y)
  // The expression has no other match.
  if (found === null) reader.at = before
  else skipBlank(reader)
  return found as Operator | null
}

function readPath(reader: Reader): SingularPath {
  const from = accept(reader, '@') ? 'current' : accept(reader, '$') ? 'root' : fail(reader, '"@" or "$"')
  const steps: (string | number)[] = []
  for (;;) {
    const before = reader.at
    skipBlank(reader)
    if (accept(reader, '.')) steps.push(readName(reader))
    else if (accept(reader, '[')) {
      skipBlank(reader)
      steps.push(readString(reader) ?? readInteger(reader) ?? fail(reader, 'a quoted name or an index'))
      skipBlank(reader)
      expect(reader, ']')
    } else {
      reader.at = before
      return { from, steps }
    }
  }
}

const words: readonly (readonly [string, Literal])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
]

/** @returns Undefined if there is none. */
function readLiteral(reader: Reader): Literal | undefined {
  for (const [word, value] of words) if (accept(reader, word)) return value
  const digits = match(reader, /(?:-?[1-9][0-9]*|-?0)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y)
  if (digits !== null) return Number(digits)
  return readString(reader) ?? undefined
}

const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', '/': '/', '\\': '\\' }

/** Characters that need no escape: neither the quote, nor a backslash, nor a control character. */
const plainIn: Readonly<Record<string, RegExp>> = {
  "'": /[\x20-\x26\x28-\x5b\x5d-\u{10ffff}]+/uy,
  '"': /[\x20\x21\x23-\x5b\x5d-\u{10ffff}]+/uy,
}

/** @returns Null if no quote follows. */
function readString(reader: Reader): string | null {
  const quote = match(reader, /['"]/y)
  if (quote === null) return null
  let text = ''
  while (!accept(reader, quote)) {
    const plain = match(reader, plainIn[quote] ?? fail(reader, quote))
    text += plain ?? readEscape(reader, quote)
  }
  return text
}

function readEscape(reader: Reader, quote: string): string {
  if (!accept(reader, '\\')) fail(reader, quote)
  if (accept(reader, quote)) return quote
  const code = match(
    reader,
    /u(?:[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?![dD][89a-fA-F])[0-9a-fA-F]{4})/y,
  )
  if (code !== null)
    return String.fromCharCode(
      ...code
        .split('u')
        .slice(1)
        .map((digits) => Number.parseInt(digits.slice(0, 4), 16)),
    )
  return escapes[match(reader, /[bfnrt/\\]/y) ?? ''] ?? fail(reader, 'an escape')
}
