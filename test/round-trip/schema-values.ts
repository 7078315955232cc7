import { isDeepStrictEqual } from 'node:util'
import { type Document, type Schema, isSchema, listOf, resolve } from '../../scripts/contract/openapi.ts'

/** A property of a contract's schema, and the path to it: names, and `[]` for the items of an array. */
export interface Property {
  readonly path: readonly string[]
  readonly schema: Schema
  /** Builds a body with only the property, and the fields that its parents require. */
  readonly wrap: (value: unknown) => Record<string, unknown>
}

/** Names and `[]` in the path to a property. */
const MAX_DEPTH = 4
/** Levels of objects and arrays in a typical value. */
const MAX_VALUE_DEPTH = 6
/** The key under which a map gets its only member. */
const MEMBER = 'member1'

/** Values without content, of every type. */
export const EMPTY: readonly unknown[] = [false, 0, '', [], {}, null]

export function isEmpty(value: unknown): boolean {
  return value === undefined || EMPTY.some((empty) => isDeepStrictEqual(empty, value))
}

/** Facts about values that the contract does not state. */
export interface Knowledge {
  /** Properties that a later release has added, as `name: type`, by schema. */
  readonly added: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Typical values by the name of the property, where not every value of the type means something. */
  readonly known: Readonly<Record<string, unknown>>
  /** The fields that a property requires beside it, by its name. */
  readonly beside: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** A document of the contract, and the known facts about its values. */
export interface Source extends Knowledge {
  readonly document: Document
}

/** Lists the properties of a schema that clients may write, with those of the objects, arrays and maps in them. */
export function propertiesOf(source: Source, schema: string): Property[] {
  const own = resolve(source.document, { $ref: `#/components/schemas/${schema}` })
  const added = Object.entries(source.added[schema] ?? {}).map(([name, type]): [string, Schema] => [
    name,
    type === 'uuid' ? { type: 'string', format: 'uuid' } : { type },
  ])
  const properties = { ...Object.fromEntries(added), ...(isSchema(own['properties']) && own['properties']) }
  return membersOf(source, { ...own, properties }, [])
}

/** Lists the top-level properties of a schema that only the service sets. */
export function readOnlyPropertiesOf(source: Source, schema: string): Property[] {
  const { properties } = resolve(source.document, { $ref: `#/components/schemas/${schema}` })
  return Object.entries(isSchema(properties) ? properties : {}).flatMap(([name, part]) => {
    const own = flatten(source.document, part)
    if (own['readOnly'] !== true) return []
    return [{ path: [name], schema: own, wrap: (value: unknown) => ({ [name]: value }) }]
  })
}

function membersOf(source: Source, schema: Schema, above: readonly string[]): Property[] {
  const { properties } = schema
  if (!isSchema(properties) || above.length >= MAX_DEPTH) return []
  return Object.entries(properties).flatMap(([name, part]) => {
    const own = flatten(source.document, part)
    if (own['readOnly'] === true) return []
    const beside = requiredBeside(source, schema, name)
    const wrap = (value: unknown): Record<string, unknown> => ({ ...beside, [name]: value })
    const path = [...above, name]
    const property: Property = { path, schema: own, wrap }
    return [property].concat(within(source, own, path).map((inner) => inside(inner, wrap)))
  })
}

/** Lists the properties within the value of a property: members of its object, of its items, or of its map. */
function within(source: Source, schema: Schema, path: readonly string[]): Property[] {
  const { document } = source
  const { items, additionalProperties: member } = schema
  if (isSchema(items)) {
    const found = membersOf(source, flatten(document, items), [...path, '[]'])
    return found.map((inner) => inside(inner, (value) => [value]))
  }
  if (isSchema(member)) {
    const found = membersOf(source, flatten(document, member), [...path, MEMBER])
    return found.map((inner) => inside(inner, (value) => ({ [MEMBER]: value })))
  }
  return membersOf(source, schema, path)
}

type Wrap<T> = (value: unknown) => T

function inside({ path, schema, wrap: inner }: Property, outer: Wrap<unknown>): Property {
  return { path, schema, wrap: (value) => outer(inner(value)) as Record<string, unknown> }
}

function requiredBeside(source: Source, schema: Schema, name: string): Record<string, unknown> {
  const others = listOf(schema['required'])
    .map(String)
    .filter((other) => other !== name)
  const properties = isSchema(schema['properties']) ? schema['properties'] : {}
  const required = Object.fromEntries(others.map((other) => [other, typicalOf(source, [other, properties[other]])]))
  return { ...required, ...source.beside[name] }
}

/** Follows references and takes the first of several alternatives. */
function flatten(document: Document, schema: unknown): Schema {
  const own = resolve(document, schema)
  const [first] = [...listOf(own['oneOf']), ...listOf(own['anyOf'])]
  return first === undefined ? own : flatten(document, first)
}

/** Returns a value that the property's schema admits, with all members of its objects. */
function typicalOf(source: Source, [name, schema]: readonly [string, unknown], depth = 0): unknown {
  if (name in source.known) return source.known[name]
  const own = flatten(source.document, schema)
  const value = listOf(own['enum']).find((allowed) => allowed !== null && allowed !== '')
  if (value !== undefined) return value
  const preset = own['default']
  // False is among the empty values.
  if (typeof preset === 'boolean') return true
  if (preset !== undefined && preset !== null && !isSchema(preset) && !Array.isArray(preset)) return preset
  switch (mainTypeOf(own)) {
    case 'boolean':
      return true
    case 'integer':
      return withinBounds(own, 7)
    case 'number':
      return withinBounds(own, 1.5)
    case 'string':
      return textOf(own)
    case 'array':
      return isSchema(own['items']) && depth < MAX_VALUE_DEPTH ? [typicalOf(source, ['', own['items']], depth + 1)] : []
    case 'object':
      return objectOf(source, own, depth)
  }
}

function objectOf(source: Source, schema: Schema, depth: number): unknown {
  const { properties, additionalProperties: member } = schema
  if (depth >= MAX_VALUE_DEPTH) return {}
  if (isSchema(properties))
    return Object.fromEntries(
      Object.entries(properties)
        .filter(([, part]) => flatten(source.document, part)['readOnly'] !== true)
        .map(([name, part]) => [name, typicalOf(source, [name, part], depth + 1)]),
    )
  return isSchema(member) ? { [MEMBER]: typicalOf(source, ['', member], depth + 1) } : {}
}

function withinBounds(schema: Schema, value: number): number {
  const { minimum, maximum } = schema
  const low = typeof minimum === 'number' ? minimum : value
  const high = typeof maximum === 'number' ? maximum : value
  return Math.min(Math.max(value, low), high)
}

/** Texts by the formats that the contract names. */
const texts: Readonly<Record<string, string>> = {
  uuid: '0193a1c0-0000-7000-8000-00000000abcd',
  email: 'somebody@example.test',
  'date-time': '2026-01-02T03:04:05Z',
  uri: 'https://example.test/path',
}

function textOf({ format, minLength, maxLength }: Schema): string {
  const text = texts[String(format)] ?? 'Some text'
  return text.padEnd(Number(minLength ?? 0), 'x').slice(0, Number(maxLength ?? Infinity))
}

/** Returns every value of an enumeration, or one typical value. */
export function typicalValues(source: Source, { path, schema }: Property): unknown[] {
  const name = path.at(-1) ?? ''
  const values = listOf(schema['enum']).filter((value) => value !== null && value !== '')
  return values.length > 0 && !(name in source.known) ? [...values] : [typicalOf(source, [name, schema])]
}

/** True if the contract allows clients to send the value there. */
export function admits(document: Document, schema: unknown, value: unknown): boolean {
  const own = flatten(document, schema)
  const types = typesOf(own)
  if (types.length > 0 && !types.some((type) => isOf(type, value))) return false
  const allowed = listOf(own['enum'])
  if (allowed.length > 0 && !allowed.includes(value)) return false
  if (typeof value === 'number') return value === withinBounds(own, value)
  if (typeof value === 'string')
    return value.length >= Number(own['minLength'] ?? (own['format'] === undefined ? 0 : 1))
  if (Array.isArray(value))
    return value.length >= Number(own['minItems'] ?? 0) && value.every((item) => admits(document, own['items'], item))
  return !isSchema(value) || listOf(own['required']).every((name) => String(name) in value)
}

type Type = 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object'

function mainTypeOf(schema: Schema): Type {
  return (typesOf(schema).find((name) => name !== 'null') ?? 'object') as Type
}

function typesOf({ type }: Schema): string[] {
  return Array.isArray(type) ? type.map(String) : typeof type === 'string' ? [type] : []
}

function isOf(type: string, value: unknown): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isSchema(value)
  if (type === 'integer') return Number.isInteger(value)
  return typeof value === type
}
