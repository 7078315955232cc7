import type { TSchema } from 'typebox'
import { isObject } from '../../platform/json/is-object.ts'
import { FILTER } from '../lists/filters.ts'
import { NAME } from '../schemas.ts'

/** A schema in the document: plain JSON. */
export type Published = Readonly<Record<string, unknown>>

/** Schemas that others refer to, by name. */
export type Components = Map<string, Published>

/**
 * Returns the schema as published: named schemas become references, and constructs that client generators do not
 * understand become equivalent ones that they do.
 *
 * @param components Receives every schema with a name.
 * @throws Error if two different schemas have the same name.
 */
export function publishSchema(schema: TSchema, components: Components): Published {
  const { [NAME]: name, [FILTER]: _, ...own } = schema as Readonly<Record<string, unknown>>
  const published = simplify(publishParts(own, components))
  if (typeof name !== 'string') return published
  const other = components.get(name)
  if (other === undefined) components.set(name, published)
  else if (JSON.stringify(other) !== JSON.stringify(published))
    throw new Error(`Two different schemas have the name ${name}`)
  return { $ref: `#/components/schemas/${name}` }
}

function publishParts(schema: Readonly<Record<string, unknown>>, components: Components): Published {
  const part = (value: unknown): unknown => (isObject(value) ? publishSchema(value, components) : value)
  const parts = (value: unknown): unknown => (Array.isArray(value) ? value.map(part) : value)
  const byName = (value: unknown): unknown =>
    isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, member]) => [key, part(member)])) : value
  const publish: Readonly<Record<string, (value: unknown) => unknown>> = {
    items: part,
    additionalProperties: part,
    anyOf: parts,
    properties: byName,
    patternProperties: byName,
  }
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, publish[key]?.(value) ?? value]))
}

function simplify(schema: Published): Published {
  if (Array.isArray(schema['anyOf'])) return simplifyUnion(schema, schema['anyOf'])
  if (Array.isArray(schema['enum'])) return simplifyEnum(schema, schema['enum'])
  const { patternProperties, ...rest } = schema
  // The form in which TypeBox writes a record with any keys.
  const ofAnyKey = isObject(patternProperties) ? patternProperties['^.*$'] : undefined
  return ofAnyKey === undefined ? schema : { ...rest, additionalProperties: ofAnyKey }
}

/**
 * Literals are an enumeration, and "or null" is a second type: generators make a class of every other union. Where null
 * is not a second type, it is one of several schemas: of "any of", the generator for Java makes a class that doesn't compile.
 */
function simplifyUnion({ anyOf: _, ...rest }: Published, alternatives: readonly Published[]): Published {
  if (alternatives.every((alternative) => 'const' in alternative)) {
    const values = alternatives.map((alternative) => alternative['const'])
    return simplifyEnum({ ...rest, enum: values }, values)
  }
  const others = alternatives.filter(({ type }) => type !== 'null')
  const [only] = others
  if (others.length === 1 && only !== undefined && others.length < alternatives.length) {
    const { type, enum: values, ...constraints } = only
    if (typeof type === 'string')
      return {
        type: [type, 'null'],
        ...(Array.isArray(values) && { enum: [...values, null] }),
        ...constraints,
        ...rest,
      }
  }
  // Alternatives of `oneOf` must exclude each other; overlapping ones use `anyOf`.
  const areApart = others.length === 1 && others.length < alternatives.length
  return { ...rest, [areApart ? 'oneOf' : 'anyOf']: alternatives }
}

/** With its type, which not every generator infers; as a pattern if the names that generators derive would collide. */
function simplifyEnum({ enum: _, ...rest }: Published, values: readonly unknown[]): Published {
  const folded = new Set(values.map((value) => String(value).toLowerCase()))
  if (folded.size < values.length) return { type: 'string', pattern: `^(${values.join('|')})$`, ...rest }
  const types = [...new Set(values.map((value) => typeof value))]
  return { ...(types.length === 1 && { type: types[0] }), enum: values, ...rest }
}
