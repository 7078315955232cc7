import { isUtf8 } from 'node:buffer'
import { AppError, invalidField } from '../../platform/errors.ts'
import { parseExactJson } from '../../platform/json/exact-json.ts'
import { isObject } from '../../platform/json/is-object.ts'
import { messageOf } from '../../platform/message-of.ts'

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
    throw new AppError('invalid', `JSON parse error - ${messageOf(error)}`)
  }
  // JSON contains neither of the characters that assertText() refuses, except as escapes.
  assertStorable(value, text.includes('\\u'))
  return value
}

/** Decodes strictly: a plain conversion would replace bytes that are not UTF-8. @throws AppError invalid. */
export function decodeText(bytes: string | Buffer): string {
  if (typeof bytes !== 'string' && !isUtf8(bytes)) throw new AppError('invalid', 'The body is not valid UTF-8')
  return bytes.toString()
}

/**
 * A body may have half a million values, so the walk creates nothing for each of them. It ends at the maximum depth.
 * @param field The member of the body that contains the value.
 */
function assertStorable(value: unknown, hasEscapes: boolean, field = 'body', depth = 0): void {
  if (typeof value === 'string') {
    if (hasEscapes) assertText(value, field)
  } else if (value === Infinity || value === -Infinity)
    throw new AppError('invalid', 'JSON parse error - a number is beyond the range of a double, about 1.8e308')
  else if (typeof value === 'object' && value !== null) {
    if (depth >= MAX_DEPTH) throw new AppError('invalid', `JSON parse error - nested deeper than ${MAX_DEPTH} levels`)
    if (Array.isArray(value)) for (const item of value) assertStorable(item, hasEscapes, field, depth + 1)
    else if (isObject(value)) assertMembers(value, hasEscapes, field, depth + 1)
  }
}

function assertMembers(object: Record<string, unknown>, hasEscapes: boolean, field: string, depth: number): void {
  for (const key in object) {
    if (key === '__proto__') throw new AppError('invalid', `JSON parse error - forbidden key ${key}`)
    if (hasEscapes) assertText(key, field)
    assertStorable(object[key], hasEscapes, depth === 1 ? key : field, depth)
  }
}

/** @throws AppError invalid for text that PostgreSQL can't store. */
export function assertText(text: string, field: string): void {
  if (text.includes('\0')) throw invalidField(field, 'may not contain the character U+0000')
  if (!text.isWellFormed()) throw invalidField(field, 'may not contain half a surrogate pair')
}
