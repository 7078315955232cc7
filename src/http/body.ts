import { isUtf8 } from 'node:buffer'
import { AppError } from '../platform/errors.ts'
import { parseExactJson } from '../platform/exact-json.ts'

/** Documents deeper than any client sends could overflow the stack where they are encoded. */
const MAX_DEPTH = 64

/**
 * Parses a JSON body. An empty body is an empty object: clients send a JSON content type with POSTs without a body.
 * @throws AppError invalid for malformed JSON, for JSON values that the database can't store (NUL characters, half
 *   surrogate pairs), and for `__proto__`.
 */
export function parseJsonBody(text: string): unknown {
  if (text.trim() === '') return {}
  let value: unknown
  try {
    value = parseExactJson(text)
  } catch (error) {
    throw new AppError('invalid', `JSON parse error - ${error instanceof Error ? error.message : 'malformed'}`)
  }
  assertStorable(value)
  return value
}

/** Decodes strictly: a plain conversion would replace bytes that are not UTF-8. @throws AppError invalid. */
export function decodeText(bytes: string | Buffer): string {
  if (typeof bytes !== 'string' && !isUtf8(bytes)) throw new AppError('invalid', 'The body is not valid UTF-8')
  return bytes.toString()
}

/** Walks without recursion, so that the depth of the document can't overflow the stack. */
function assertStorable(root: unknown): void {
  const open: { value: unknown; depth: number }[] = [{ value: root, depth: 0 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next
    if (typeof value === 'string') assertText(value)
    if (value === Infinity || value === -Infinity)
      throw new AppError('invalid', 'JSON parse error - a number is beyond the range of a double, about 1.8e308')
    if (typeof value !== 'object' || value === null) continue
    if (depth >= MAX_DEPTH) throw new AppError('invalid', `JSON parse error - nested deeper than ${MAX_DEPTH} levels`)
    for (const [key, member] of Object.entries(value)) {
      if (key === '__proto__') throw new AppError('invalid', `JSON parse error - forbidden key ${key}`)
      assertText(key)
      open.push({ value: member, depth: depth + 1 })
    }
  }
}

/** @throws AppError invalid for text that PostgreSQL can't store. */
export function assertText(text: string): void {
  if (text.includes('\0')) throw new AppError('invalid', 'Text may not contain the character U+0000')
  if (!text.isWellFormed()) throw new AppError('invalid', 'Text may not contain half a surrogate pair')
}
