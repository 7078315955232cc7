import fc from 'fast-check'
import { Compile } from 'typebox/compile'

/** A JSON Schema as the server's own OpenAPI document has it, without references. */
export type Schema = Readonly<Record<string, unknown>>

/** A value that only just meets a declared constraint, or only just fails it. */
export interface Probe {
  /** The field's name in refusals, such as `privileges.0.role`; empty for the whole value. */
  readonly field: string
  readonly keyword: string
  readonly isInside: boolean
  /** The whole value. */
  readonly value: unknown
  /** Equal for constraints of the same field and kind, wherever they are. */
  readonly kind: string
}

interface Place {
  readonly path: readonly string[]
  readonly schema: Schema
  /** The value there in the sample. */
  readonly sample: unknown
  /** Returns the whole value with `part` at this place. */
  readonly put: (part: unknown) => unknown
}

interface Part {
  readonly keyword: string
  readonly isInside: boolean
  readonly part: unknown
  /** The member that is left out. */
  readonly missing?: string
}

const MAX_DEPTH = 5
/** Longer lists and texts would try the limit of bodies. */
const MAX_SIZE = 5000

/**
 * Lists probes of every constraint in a schema. A value that fails one alternative and matches another one meets the
 * schema, so the schema decides whether each probe is valid.
 * @param sample A valid value, which each probe changes in one place.
 */
export function probesOf(schema: Schema, sample: unknown): Probe[] {
  const check = Compile(schema)
  return placesOf({ path: [], schema, sample, put: (part) => part })
    .flatMap((place) =>
      partsOf(place).map(({ keyword, isInside, part, missing }) => ({
        field: [...place.path, ...(missing === undefined ? [] : [missing])].join('.'),
        keyword,
        isInside,
        value: place.put(part),
        kind: JSON.stringify([place.path.at(-1), keyword, missing ?? place.schema[keyword], isInside]),
      })),
    )
    .filter(({ value, isInside }) => check.Check(value) === isInside)
}

function placesOf(place: Place): Place[] {
  const { path, schema, sample, put } = place
  if (path.length > MAX_DEPTH) return []
  const alternatives = alternativesOf(schema).flatMap((alternative) => placesOf({ ...place, schema: alternative }))
  const container = isSchema(sample) ? sample : exampleOf({ ...schema, type: 'object' })
  const members = propertiesOf(schema).flatMap(([name, member]) =>
    placesOf({
      path: [...path, name],
      schema: member,
      sample: isSchema(container) ? container[name] : undefined,
      put: (part) => put({ ...Object(container), [name]: part }),
    }),
  )
  const { items } = schema
  const [first] = Array.isArray(sample) ? sample : []
  const inside = isSchema(items)
    ? placesOf({ path: [...path, '0'], schema: items, sample: first, put: (part) => put([part]) })
    : []
  return [place, ...alternatives, ...members, ...inside]
}

function partsOf({ schema, sample }: Place): Part[] {
  const inside = (keyword: string, part: unknown): Part => ({ keyword, isInside: true, part })
  const outside = (keyword: string, part: unknown): Part => ({ keyword, isInside: false, part })
  const around = (keyword: string, make: (size: number) => unknown, beyond: number): Part[] => {
    const limit = schema[keyword]
    if (typeof limit !== 'number' || limit > MAX_SIZE * MAX_SIZE) return []
    return [inside(keyword, make(limit)), ...(limit + beyond < 0 ? [] : [outside(keyword, make(limit + beyond))])]
  }
  const text = (length: number): string => 'x'.repeat(Math.min(length, MAX_SIZE * 30))
  const list = (length: number): unknown[] =>
    Array.from({ length: Math.min(length, MAX_SIZE) }, (_, index) => exampleOf(schema['items'], index))
  const number = (value: number): number => value
  const step = schema['type'] === 'integer' ? 1 : 0.5
  return [
    ...around('minLength', text, -1),
    ...around('maxLength', text, 1),
    ...around('minItems', list, -1),
    ...around('maxItems', list, 1),
    ...numbersAround('minimum', schema, -step).map(([isInside, part]) => ({ keyword: 'minimum', isInside, part })),
    ...numbersAround('maximum', schema, step).map(([isInside, part]) => ({ keyword: 'maximum', isInside, part })),
    ...(typeof schema['exclusiveMinimum'] === 'number'
      ? [outside('exclusiveMinimum', number(schema['exclusiveMinimum']))]
      : []),
    ...('enum' in schema
      ? [...listOf(schema['enum']).map((value) => inside('enum', value)), outside('enum', 'no such value')]
      : []),
    ...('const' in schema ? [inside('const', schema['const']), outside('const', 'no such value')] : []),
    ...('pattern' in schema ? [inside('pattern', exampleOf(schema)), outside('pattern', '\u{1f6f0}')] : []),
    ...('format' in schema ? [inside('format', exampleOf(schema)), outside('format', 'of no such format')] : []),
    ...(schema['uniqueItems'] === true
      ? [
          outside(
            'uniqueItems',
            [0, 0].map(() => exampleOf(schema['items'])),
          ),
        ]
      : []),
    ...listOf(schema['required']).map((name): Part => {
      const container = isSchema(sample) ? sample : Object(exampleOf({ ...schema, type: 'object' }))
      const { [String(name)]: _, ...part } = container
      return { keyword: 'required', isInside: false, part, missing: String(name) }
    }),
  ]
}

function numbersAround(keyword: string, schema: Schema, beyond: number): [boolean, number][] {
  const limit = schema[keyword]
  if (typeof limit !== 'number' || !Number.isSafeInteger(limit + beyond)) return []
  return [
    [true, limit],
    [false, limit + beyond],
  ]
}

/** Returns a valid value with as little in it as possible. @param index Distinguishes the items of a list. */
export function exampleOf(schema: unknown, index = 0): unknown {
  if (!isSchema(schema)) return {}
  const [alternative] = alternativesOf(schema)
  if (alternative !== undefined) return exampleOf(alternative, index)
  if ('const' in schema) return schema['const']
  if (Array.isArray(schema['enum'])) return schema['enum'][index % schema['enum'].length]
  const type = listOf(schema['type'])[0] ?? schema['type']
  if (type === 'object' || (type === undefined && 'properties' in schema)) {
    const required = new Set(listOf(schema['required']))
    return Object.fromEntries(
      propertiesOf(schema).flatMap(([name, member]) => (required.has(name) ? [[name, exampleOf(member, index)]] : [])),
    )
  }
  if (type === 'array')
    return Array.from({ length: Number(schema['minItems'] ?? 0) }, (_, item) => exampleOf(schema['items'], item))
  if (type === 'integer' || type === 'number') return Number(schema['minimum'] ?? schema['maximum'] ?? 1)
  if (type === 'boolean') return true
  if (type === 'null') return null
  return textOf(schema, index)
}

function textOf(schema: Schema, index: number): string {
  const number = index.toString(16).padStart(12, '0')
  if (schema['format'] === 'uuid') return `0193a1c0-0000-7000-8000-${number}`
  if (schema['format'] === 'email') return `someone${index}@example.com`
  if (schema['format'] === 'uri') return 'https://example.com'
  if (schema['format'] === 'date-time') return '2026-11-20T12:00:00Z'
  if (typeof schema['pattern'] === 'string' && !new RegExp(schema['pattern'], 'u').test(number))
    return sampleOf(schema['pattern'], index)
  return 'pattern' in schema ? number : number.slice(-Math.max(1, Number(schema['minLength'] ?? 1)))
}

/** Reading a pattern takes milliseconds, and lists need thousands of samples. */
const readPatterns = new Map<string, fc.Arbitrary<string>>()

function sampleOf(pattern: string, index: number): string {
  const texts = readPatterns.get(pattern) ?? fc.stringMatching(new RegExp(pattern, 'u'))
  readPatterns.set(pattern, texts)
  return String(fc.sample(texts, { seed: 1 + index, numRuns: 1 })[0])
}

function alternativesOf(schema: Schema): Schema[] {
  return [...listOf(schema['anyOf']), ...listOf(schema['oneOf'])].filter(isSchema)
}

function propertiesOf({ properties }: Schema): [string, Schema][] {
  return Object.entries(isSchema(properties) ? properties : {}).filter((entry): entry is [string, Schema] =>
    isSchema(entry[1]),
  )
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
