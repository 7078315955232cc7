import type { TSchema } from 'typebox'
import { invalidField } from '../platform/errors.ts'
import { isObject } from '../platform/is-object.ts'

/** The end of a sentence that starts with the name of a field. */
export const UNKNOWN_FIELD = 'is no field of this operation'

/**
 * Clients write `"-field": ""` for a field that they leave unset. Where something is created or done, that says nothing.
 */
export function withUnsets(schema: TSchema): TSchema {
  const { properties, required, additionalProperties } = schema as Readonly<Record<string, unknown>>
  if (!isObject(properties) || additionalProperties !== false) return schema
  const optional = Object.keys(properties).filter((name) => !Array.isArray(required) || !required.includes(name))
  if (optional.length === 0) return schema
  const pattern = `^-(${optional.join('|')})$`
  return { ...schema, patternProperties: { [pattern]: { const: '', type: 'string' } } }
}

/**
 * Returns the schema of a body that has only the fields it declares, at every depth: an unknown one would be dropped
 * silently. Objects that store or compare other fields too say so with `additionalProperties`, and stay as they are,
 * with all that is in them.
 */
export function closeBody<T extends TSchema>(schema: T): T {
  return closeValue(schema) as T
}

function closeValue(schema: unknown): unknown {
  if (!isObject(schema) || 'additionalProperties' in schema) return schema
  const { properties, items, anyOf, content } = schema
  return {
    ...schema,
    ...(isObject(properties) && { properties: closeMembers(properties), additionalProperties: false }),
    ...(isObject(items) && { items: closeValue(items) }),
    ...(Array.isArray(anyOf) && { anyOf: anyOf.map(closeValue) }),
    ...(isObject(content) && { content: closeContent(content) }),
  }
}

function closeMembers(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, closeValue(member)]))
}

/** Forms and streams are checked part by part as they arrive. */
function closeContent(content: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { 'application/json': json, ...others } = content
  return { ...others, ...(isObject(json) && { 'application/json': { schema: closeValue(json['schema']) } }) }
}

/**
 * Asserts that an operation without a declared body receives none.
 * @throws AppError invalid naming the first field.
 */
export function assertNoFields(body: unknown): void {
  if (body === undefined || body === null || body === '') return
  const [field = 'body'] = isObject(body) ? Object.keys(body) : []
  if (!isObject(body) || field in body) throw invalidField(field.slice(0, 100), UNKNOWN_FIELD)
}
