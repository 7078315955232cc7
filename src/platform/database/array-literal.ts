/** The values of arrays that have a literal; any other needs the encoder of the driver. */
type Element = string | number | boolean | Date | Buffer

/** JSON.stringify() would write these characters in a way that PostgreSQL reads otherwise. */
// oxlint-disable-next-line no-control-regex -- It is about them.
const WRITTEN_OTHERWISE_IN_JSON = /[\u0000-\u001f\ud800-\udfff]/
/** The driver writes the others, which have another format. */
const LAST_MS = Date.UTC(10_000, 0)

/**
 * Encodes values as the text of an array of PostgreSQL. The driver does so character by character, which for the rows of
 * a statement takes more memory than all other work on them.
 * @returns Null if a value is of another kind.
 */
export function arrayLiteral(values: readonly unknown[]): string | null {
  const parts: string[] = []
  for (const value of values) {
    if (value === null) parts.push('NULL')
    else if (isElement(value)) parts.push(encode(value))
    else return null
  }
  return `{${parts.join(',')}}`
}

function isElement(value: unknown): value is Element {
  if (value instanceof Date) return value.getTime() >= 0 && value.getTime() < LAST_MS
  return ['string', 'number', 'boolean'].includes(typeof value) || Buffer.isBuffer(value)
}

function encode(value: Element): string {
  if (typeof value === 'string') return quote(value)
  if (typeof value !== 'object') return String(value)
  return value instanceof Date ? `"${value.toISOString()}"` : `"\\\\x${value.toString('hex')}"`
}

function quote(text: string): string {
  return WRITTEN_OTHERWISE_IN_JSON.test(text) ? `"${text.replaceAll(/["\\]/g, '\\$&')}"` : JSON.stringify(text)
}
