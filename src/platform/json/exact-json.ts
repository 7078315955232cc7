import { randomUUID } from 'node:crypto'
import { isObject } from './is-object.ts'

declare global {
  // Functions of Node.js that the library of TypeScript does not declare yet.
  interface JSON {
    rawJSON(text: string): object
    /** Missing in Node.js 20, which runs agents: there no value is raw. */
    isRawJSON?(value: unknown): boolean
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown
  }
}

/** Integers with so many digits that a double may not hold them, in valid JSON or in its texts. */
const LONG_INTEGERS = /(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g

/** Finds nothing in most JSON, in a fraction of the time that the search for long integers takes. */
const MANY_DIGITS = /\d{16}/

/** Begins the texts that stand for integers while the rest is parsed. No client knows it. */
const MARK = `integer ${randomUUID()} `

/**
 * Parses JSON without rounding integers: those that a double can't hold become `JSON.rawJSON` values, which
 * `JSON.stringify` writes digit by digit. Numbers beyond the range of doubles become infinite, as with `JSON.parse`.
 * @throws SyntaxError
 */
export function parseExactJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (!MANY_DIGITS.test(text)) return value
  const marked = markLongIntegers(text)
  // A reviver, which gets the digits of each number, would cost many times as much as parsing again.
  if (marked === text) return value
  const exact = restore(JSON.parse(marked))
  if (typeof exact === 'object' && exact !== null) parsedWithCare.add(exact)
  return exact
}

/** @param text Valid JSON. */
function markLongIntegers(text: string): string {
  const parts: string[] = []
  let copied = 0
  let end = 0
  /** Where the first text behind `end`, which is outside of texts, begins. */
  let quote = text.indexOf('"')
  for (const { 0: digits, index } of text.matchAll(LONG_INTEGERS)) {
    while (quote !== -1 && quote < index) {
      end = endOfText(text, quote)
      quote = text.indexOf('"', end)
    }
    if (end > index || isExact(digits)) continue
    parts.push(text.slice(copied, index), `"${MARK}${digits}"`)
    copied = index + digits.length
  }
  return copied === 0 ? text : parts.join('') + text.slice(copied)
}

/** Returns the position behind the text that begins at `quote`. */
function endOfText(json: string, quote: number): number {
  for (let end = json.indexOf('"', quote + 1); ; end = json.indexOf('"', end + 1)) {
    let escapes = 0
    while (json[end - 1 - escapes] === '\\') escapes += 1
    if (escapes % 2 === 0) return end + 1
  }
}

function restore(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith(MARK) ? JSON.rawJSON(value.slice(MARK.length)) : value
  if (Array.isArray(value)) for (const [index, item] of value.entries()) value[index] = restore(item)
  else if (isObject(value)) for (const name in value) value[name] = restore(value[name])
  return value
}

/** Values that may have integers in raw form. */
const parsedWithCare = new WeakSet<object>()

/** True if a value that parseExactJson() returned may have integers that a double can't hold. */
export function hasLongIntegers(value: unknown): boolean {
  return typeof value === 'object' && value !== null && parsedWithCare.has(value)
}

/** Notes that `outer` now contains `inner`, which parseExactJson() has returned for another text. */
export function inheritLongIntegers(outer: object, inner: unknown): void {
  if (hasLongIntegers(inner)) parsedWithCare.add(outer)
}

/** True if a double has these digits, or is infinite, which is refused elsewhere. */
function isExact(digits: string): boolean {
  const value = Number(digits)
  return !Number.isFinite(value) || Number.isSafeInteger(value) || digitsOf(value) === digits
}

/** The shortest digits of a large double, without an exponent: the database writes 1e305 with all its zeros. */
function digitsOf(value: number): string {
  const [, first, rest = '', exponent] = /^(-?\d)(?:\.(\d+))?e\+(\d+)$/.exec(String(value)) ?? []
  return first === undefined ? String(value) : first + rest.padEnd(Number(exponent), '0')
}

/** Returns the value that `JSON.parse` yields for the same text: every number is a number, rounded if necessary. */
export function roundIntegers(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
