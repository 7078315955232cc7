import { type TSchema, Type } from 'typebox'
import { invalidField } from '../../platform/errors.ts'
import { isObject } from '../../platform/json/is-object.ts'

/** The end of a sentence that starts with the name of a field. */
export const UNKNOWN_FIELD = 'is no field of this operation'

/**
 * Options of the schema of an update: `"-field": ""` unsets these fields, and the operation checks isUnset(). Such a
 * field is not a property of the schema: in generated clients, both would get the same name.
 */
export function unsettable(fields: readonly string[]) {
  return { patternProperties: { [unsetPattern(fields)]: Type.Literal('', { description: 'unsets the field' }) } }
}

/**
 * True if a body unsets a field.
 * @throws AppError invalid naming a field that it both sets and unsets.
 */
export function isUnset(body: object, field: string): boolean {
  if (!(`-${field}` in body)) return false
  if (field in body) throw invalidField(`-${field}`, `contradicts ${field}`)
  return true
}

function unsetPattern(fields: readonly string[]): string {
  return `^-(${fields.join('|')})$`
}

/**
 * Clients write `"-field": ""` for every field that they leave unset. That has no meaning when something is created or
 * executed, nor in an update for fields that the service sets: the schema accepts those.
 */
export function withUnsets(schema: TSchema, isUpdate: boolean): TSchema {
  const { properties, required, additionalProperties, patternProperties } = schema as Readonly<Record<string, unknown>>
  if (!isObject(properties) || additionalProperties !== false) return schema
  const names = Object.entries(properties)
    .filter(
      ([name, property]) =>
        !(Array.isArray(required) && required.includes(name)) && (!isUpdate || isReadOnly(property)),
    )
    .map(([name]) => name)
  if (names.length === 0) return schema
  const unset = { [unsetPattern(names)]: { const: '', type: 'string' } }
  return { ...schema, patternProperties: { ...(isObject(patternProperties) && patternProperties), ...unset } }
}

function isReadOnly(schema: unknown): boolean {
  return isObject(schema) && schema['readOnly'] === true
}

/**
 * Returns the schema of a body that has only the fields it declares, at every depth: an unknown one would be dropped
 * silently. Objects that store or compare other fields too declare `additionalProperties`, and are left unchanged with
 * all their content.
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
