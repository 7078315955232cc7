import { isDeepStrictEqual } from 'node:util'
import type { TSchema } from 'typebox'
import { isObject } from '../../platform/json/is-object.ts'
import { check } from '../validate.ts'

/**
 * Checks a body, but neither the top-level fields that have the values of the record, nor a null anywhere that the record has there:
 * clients send whole records back, and a record may have been stored before its fields were checked.
 * @param read Returns the record as answers show it.
 * @returns The body, without such fields if it fails the schema with them: another person may mend them before it is written.
 * @throws AppError invalid, which names the field.
 */
export async function checkChanges(schema: TSchema, body: unknown, read: () => Promise<unknown>): Promise<unknown> {
  try {
    check(schema, body)
    return body
  } catch (error) {
    const present = isObject(body) ? await read() : undefined
    if (!isObject(body) || !isObject(present)) throw error
    const isChanged = ([field, value]: [string, unknown]) => !isDeepStrictEqual(value, present[field])
    const changed = Object.fromEntries(Object.entries(body).filter(isChanged))
    check(schema, withoutNulls(changed, present))
    return changed
  }
}

function withoutNulls(value: unknown, present: unknown): unknown {
  if (!isObject(value) || !isObject(present)) return value
  const members = Object.entries(value).filter(([name, member]) => member !== null || present[name] !== null)
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member, present[name])]))
}
