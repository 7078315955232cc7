import fc from 'fast-check'

/** A JSON Schema as the server's own OpenAPI document uses it. */
export type Schema = Readonly<Record<string, unknown>>

/** Texts that have broken some parser, path or query. */
const hostileText = fc.constantFrom(
  '',
  ' ',
  '0',
  '-1',
  'null',
  '../../etc/passwd',
  "'; drop table org; --",
  '%',
  '%00',
  '%2e%2e%2f',
  '<script>alert(1)</script>',
  '🛰️ Zürich — 東京',
  '\u202Eright to left',
  'x'.repeat(10_000),
  '00000000-0000-0000-0000-000000000000',
  '9'.repeat(400),
  '1e999',
  '2024-02-30T25:61:61',
)

/** Values of any type. JSON can't represent the numbers that are not finite. */
const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  hostileText,
  fc.constantFrom<unknown>(null, true, false, 0, -1, 1.5, 1e308, -1e308, 2 ** 31, 2 ** 53, [], {}, [[]], [null]),
  fc.constantFrom<unknown>({ a: { b: { c: [] } } }, ['a', 1, null, {}], { '-name': '' }, { constructor: { x: 1 } }),
)

/** How many of ten values are hostile, drawn separately at each place. */
export type Hostility = 0 | 2

/** Generates values that match the schema, with hostile ones in some places. */
export function valueOf(schema: Schema, hostility: Hostility, depth = 0): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 10 - hostility, arbitrary: describedBy(schema, hostility, depth) },
    { weight: hostility, arbitrary: hostileValue },
  )
}

const MAX_DEPTH = 5

function describedBy(schema: Schema, hostility: Hostility, depth: number): fc.Arbitrary<unknown> {
  const alternatives = [...listOf(schema['anyOf']), ...listOf(schema['oneOf'])].filter(isSchema)
  if (alternatives.length > 0)
    return fc.oneof(...alternatives.map((alternative) => valueOf(alternative, hostility, depth)))
  const values = listOf(schema['enum'])
  if (values.length > 0) return fc.constantFrom(...values)
  if ('const' in schema) return fc.constant(schema['const'])
  const types = listOf(schema['type'])
  if (types.length > 0) return fc.oneof(...types.map((type) => valueOf({ ...schema, type }, hostility, depth)))
  switch (schema['type']) {
    case 'null':
      return fc.constant(null)
    case 'object':
      return depth < MAX_DEPTH ? objectOf(schema, hostility, depth) : fc.constant({})
    case 'array':
      return isSchema(schema['items']) && depth < MAX_DEPTH
        ? fc.array(valueOf(schema['items'], hostility, depth + 1), { maxLength: 4 })
        : fc.constant([])
    case 'integer':
      return fc.integer(boundsOf(schema))
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true })
    case 'boolean':
      return fc.boolean()
    case 'string':
      return textOf(schema, hostility)
    default:
      return hostileValue
  }
}

/** Generates objects with some of the properties, required or not, with an unknown one, and with a null one. */
function objectOf(schema: Schema, hostility: Hostility, depth: number): fc.Arbitrary<unknown> {
  const properties = Object.entries(isSchema(schema['properties']) ? schema['properties'] : {})
  const known = Object.fromEntries(
    properties
      .filter(([, value]) => isSchema(value))
      .map(([name, value]) => [name, valueOf(value as Schema, hostility, depth + 1)]),
  )
  const names = Object.keys(known)
  const unset = names.length === 0 ? fc.constant({}) : fc.constantFrom(...names).map((name) => ({ [`-${name}`]: '' }))
  return fc
    .tuple(
      fc.record(known, { requiredKeys: [] }),
      fc.option(fc.record({ an_unknown_key: hostileValue }), { nil: {}, freq: 4 }),
      fc.option(unset, { nil: {}, freq: 6 }),
    )
    .map((parts) => Object.assign({}, ...parts))
}

function boundsOf(schema: Schema): { min: number; max: number } {
  const { minimum, maximum } = schema
  const min = typeof minimum === 'number' ? Math.ceil(minimum) : -1000
  return { min, max: typeof maximum === 'number' ? Math.floor(maximum) : min + 2000 }
}

const texts = new Map<string, fc.Arbitrary<string>>()

/** A generator for a pattern takes longer to make than its texts, and hundreds of schemas share a few patterns. */
function textMatching(pattern: string): fc.Arbitrary<string> {
  const text = texts.get(pattern) ?? fc.stringMatching(new RegExp(pattern, 'u'))
  texts.set(pattern, text)
  return text
}

function textOf(schema: Schema, hostility: Hostility): fc.Arbitrary<string> {
  if (schema['format'] === 'uuid') return fc.uuid()
  if (typeof schema['pattern'] === 'string') return textMatching(schema['pattern'])
  const text = fc.string({ unit: 'grapheme', minLength: Number(schema['minLength'] ?? 0), maxLength: 40 })
  return hostility === 0 ? text : fc.oneof(hostileText, text)
}

/** Generates text for a path or a query. */
export function textFor(schema: Schema, hostility: Hostility): fc.Arbitrary<string> {
  const described = valueOf(schema, hostility).map((value) =>
    typeof value === 'string' ? value : (JSON.stringify(value) ?? ''),
  )
  return hostility === 0 ? described : fc.oneof(hostileText, described)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
