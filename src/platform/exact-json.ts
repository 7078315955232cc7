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

/** A double holds every integer of up to 15 digits. */
const LONG_INTEGER = /\d{16}/

/**
 * Parses JSON without rounding integers: those that a double can't hold become `JSON.rawJSON` values, which
 * `JSON.stringify` writes digit by digit. Numbers beyond the range of doubles become infinite, as with `JSON.parse`.
 * @throws SyntaxError
 */
export function parseExactJson(text: string): unknown {
  // Hardly any text has such integers, and a reviver costs many times as much as the parser.
  if (!LONG_INTEGER.test(text)) return JSON.parse(text)
  const value = JSON.parse(text, keepDigits)
  if (typeof value === 'object' && value !== null) parsedWithCare.add(value)
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

function keepDigits(_key: string, value: unknown, { source }: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || !Number.isFinite(value) || Number.isSafeInteger(value)) return value
  if (source === undefined || !/^-?\d+$/.test(source) || digitsOf(value) === source) return value
  return JSON.rawJSON(source)
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
