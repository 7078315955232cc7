/** The values of arrays that have a literal; any other needs the encoder of the driver. */
type Element = string | number | boolean | Date | Buffer

/** Texts without these are written as they are, between quotation marks. */
// oxlint-disable-next-line no-control-regex -- It is about them.
const SPECIAL = /["\\\u0000-\u001f\ud800-\udfff]/
/** JSON.stringify() would write these characters in a way that PostgreSQL reads otherwise. */
// oxlint-disable-next-line no-control-regex -- It is about them.
const WRITTEN_OTHERWISE_IN_JSON = /[\u0000-\u001f\ud800-\udfff]/
/** Ids need no quotation marks. */
const ID = /^[0-9a-f-]{36}$/
/** The driver writes the others, which have another format. */
const LAST_MS = Date.UTC(10_000, 0)

/**
 * Encodes a value of each row as the text of an array of PostgreSQL. The driver does so character by character, which for the
 * rows of a statement takes more memory than all other work on them.
 * @returns Null if a value is of another kind.
 */
export function arrayLiteral<R>(rows: readonly R[], valueOf: (row: R) => unknown): string | null {
  let text = '{'
  // The rows of a statement often have the same value in a column.
  let [last, lastText]: [unknown, string] = [null, 'NULL']
  for (const row of rows) {
    const value = valueOf(row)
    if (value !== last) {
      if (value !== null && !isElement(value)) return null
      lastText = value === null ? 'NULL' : encode(value)
      last = value
    }
    text += text.length === 1 ? lastText : `,${lastText}`
  }
  return `${text}}`
}

function isElement(value: unknown): value is Element {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return true
  if (value instanceof Date) return value.getTime() >= 0 && value.getTime() < LAST_MS
  return Buffer.isBuffer(value)
}

function encode(value: Element): string {
  if (typeof value === 'string') return quote(value)
  if (typeof value !== 'object') return String(value)
  return value instanceof Date ? `"${value.toISOString()}"` : `"\\\\x${value.toString('hex')}"`
}

function quote(text: string): string {
  if (text.length === 36 && ID.test(text)) return text
  if (!SPECIAL.test(text)) return `"${text}"`
  return WRITTEN_OTHERWISE_IN_JSON.test(text) ? `"${text.replaceAll(/["\\]/g, '\\$&')}"` : JSON.stringify(text)
}
