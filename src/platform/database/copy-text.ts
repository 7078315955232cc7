/** The characters that have a meaning in the text format of `copy`, and how they are written there. */
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }
const ESCAPED = /[\\\n\r\t]/
const EACH_ESCAPED = /[\\\n\r\t]/g

/** Encodes rows in the text format of `copy`. @param values A value for each column; null and undefined are null. */
export function copyText(rows: readonly (readonly unknown[])[]): string {
  let text = ''
  for (const values of rows) {
    // An iterator of places and values makes an array for each value.
    let separator = ''
    for (const value of values) {
      text += separator + encode(value)
      separator = '\t'
    }
    text += '\n'
  }
  return text
}

function encode(value: unknown): string {
  if (typeof value === 'string') return escape(value)
  if (value === null || value === undefined) return '\\N'
  if (value instanceof Date) return value.toISOString()
  if (Buffer.isBuffer(value)) return `\\\\x${value.toString('hex')}`
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw new TypeError(`A column can't have a value of the type ${typeof value}`)
}

function escape(text: string): string {
  return ESCAPED.test(text) ? text.replaceAll(EACH_ESCAPED, (special) => ESCAPES[special] ?? special) : text
}
