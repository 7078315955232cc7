import { takesAll } from './answered-fields.ts'
import { type Correction, isCorrected } from './corrections.ts'
import { type Document, type Operation, type Schema, isSchema, listOf, operationsOf, resolve } from './openapi.ts'

/**
 * `same`; `wider`: accepts or answers more; `narrower`: something in the contract is missing or refused; `missing`:
 * there is no such operation.
 */
export type Verdict = 'same' | 'wider' | 'narrower' | 'missing'

export interface Finding {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly tags: readonly string[]
  /** True for the messages of a topic to receivers of webhooks: clients don't call them. */
  readonly isTopic: boolean
  readonly verdict: Verdict
  /** The fields that differ, with the difference, such as `query.type: not taken`. Empty unless narrower. */
  readonly fields: readonly string[]
}

/**
 * Returns one finding for each operation and each topic of `contract`, in its order.
 * @param corrections The statements of the contract that override its document; see corrections.ts.
 */
export function compare(contract: Document, ours: Document, corrections: readonly Correction[] = []): Finding[] {
  const own = operationsOf(ours)
  const operations = operationsOf(contract)
  const written = writtenSchemas(operations.values())
  return [...operations].map(([key, theirs]) => {
    const { id, method, path, tags, isTopic } = theirs
    const mine = own.get(key)
    if (mine === undefined) return { id, method, path, tags, isTopic, verdict: 'missing', fields: [] }
    const differences = [
      ...compareQuery(theirs, mine),
      ...compareBody(theirs, mine),
      ...compareReply(theirs, mine, written),
    ].filter(({ field }) => !corrections.some((correction) => isCorrected(correction, id, field)))
    const fields = differences.filter(({ kind }) => kind === 'narrower').map(({ field }) => field)
    const verdict = fields.length > 0 ? 'narrower' : differences.length > 0 ? 'wider' : 'same'
    return { id, method, path, tags, isTopic, verdict, fields }
  })
}

interface Difference {
  readonly kind: 'wider' | 'narrower'
  readonly field: string
}

const narrower = (field: string): Difference => ({ kind: 'narrower', field })
const wider = (field: string): Difference => ({ kind: 'wider', field })

function compareQuery(theirs: Operation, mine: Operation): Difference[] {
  const differences: Difference[] = []
  for (const [name, schema] of theirs.query) {
    const own = mine.query.get(name)
    if (own === undefined) differences.push(narrower(`query.${name}: not taken`))
    // They name a field of the answer, and there is no other field. test/search shows that each one has its effect.
    else if ((name === 'sort' || name === 'last_by') && isAnyText(schema) && takesAll(mine, name)) continue
    // Every query parameter arrives as text.
    else if (!isAnyText(own)) differences.push(...refusals(`query.${name}`, schema, own))
  }
  for (const name of mine.query.keys()) if (!theirs.query.has(name)) differences.push(wider(`query.${name}`))
  return differences
}

function compareBody(theirs: Operation, mine: Operation): Difference[] {
  if (theirs.body === null) return mine.body === null ? [] : [wider('body')]
  // JSON can't contain a file: the clients of these operations send a form.
  const own = mine.body ?? (hasFile(theirs.document, theirs.body) ? mine.form : null)
  if (own === null) return [narrower('body: not taken')]
  const pair = { theirs: { schema: theirs.body, in: theirs.document }, mine: { schema: own, in: mine.document } }
  return walk('body', pair, 'request')
}

/** Lists the references to schemas that clients send. */
function writtenSchemas(operations: Iterable<Operation>): Set<string> {
  return new Set([...operations].flatMap(({ body }) => referencesOf(body)))
}

/** Lists the references to a schema, to its items and to its alternatives. */
function referencesOf(schema: unknown): string[] {
  if (!isSchema(schema)) return []
  const own = typeof schema['$ref'] === 'string' ? [schema['$ref']] : []
  return [...own, ...[schema['items'], ...alternativesOf(schema)].flatMap(referencesOf)]
}

function hasFile(document: Document, schema: unknown): boolean {
  return Object.values(propertiesOf(resolve(document, schema))).some((part) => isFile(resolve(document, part)))
}

function isFile({ type, format }: Schema): boolean {
  return type === 'string' && format === 'binary'
}

function compareReply(theirs: Operation, mine: Operation, written: ReadonlySet<string>): Difference[] {
  if (theirs.reply === null) return []
  if (isFile(resolve(theirs.document, theirs.reply))) return mine.answersFile ? [] : [narrower('reply: no file')]
  if (mine.reply === null) return [narrower('reply: none')]
  const pair = {
    theirs: { schema: theirs.reply, in: theirs.document },
    mine: { schema: mine.reply, in: mine.document },
  }
  // An open reply contains what clients have sent; fields that clients can't send must be declared.
  const isWritten = referencesOf(resolveItems(theirs)).some((reference) => written.has(reference))
  return walk('reply', pair, isWritten ? 'reply of what was sent' : 'reply')
}

/** A list returns a schema by name, whose items may have the name of what clients send. */
function resolveItems({ reply, document }: Operation): Schema {
  return { anyOf: [reply, resolve(document, reply)] }
}

type Direction = 'request' | 'reply' | 'reply of what was sent'

interface Placed {
  readonly schema: unknown
  readonly in: Document
}

interface Pair {
  readonly theirs: Placed
  readonly mine: Placed
}

/** Schemas may contain themselves. */
const MAX_DEPTH = 8

function walk(field: string, pair: Pair, direction: Direction): Difference[] {
  const theirs = pick(resolve(pair.theirs.in, pair.theirs.schema), pair.theirs.in)
  const mine = pick(resolve(pair.mine.in, pair.mine.schema), pair.mine.in)
  if (field.split(/[.[]/).length > MAX_DEPTH || isOpen(theirs) || isOpen(mine)) return []
  const own = direction === 'request' ? refusals(field, theirs, mine) : surprises(field, theirs, mine)
  if (own.some(({ kind }) => kind === 'narrower')) return own
  const into = (at: string, theirPart: unknown, myPart: unknown): Difference[] =>
    walk(
      at,
      { theirs: { schema: theirPart, in: pair.theirs.in }, mine: { schema: myPart, in: pair.mine.in } },
      direction,
    )
  if (isSchema(theirs['items']) && isSchema(mine['items']))
    return [...own, ...into(`${field}[]`, theirs['items'], mine['items'])]
  return [...own, ...walkProperties(field, { theirs, mine, direction, document: pair.theirs.in }, into)]
}

interface Objects {
  readonly theirs: Schema
  readonly mine: Schema
  /** The contract's document. */
  readonly document: Document
  readonly direction: Direction
}

function walkProperties(
  field: string,
  { theirs, mine, direction, document }: Objects,
  into: (at: string, theirPart: unknown, myPart: unknown) => Difference[],
): Difference[] {
  const theirProperties = propertiesOf(theirs)
  const myProperties = propertiesOf(mine)
  const keeps = (part: unknown): boolean =>
    direction === 'request'
      ? mine['additionalProperties'] !== false
      : direction === 'reply of what was sent' && 'additionalProperties' in mine && !isReadOnly(part, document)
  const demanded = listOf((direction === 'request' ? mine : theirs)['required']).map(String)
  // Clients must send these, and an open reply contains what they have sent.
  const isSent = (name: string): boolean => direction === 'reply of what was sent' && keeps(theirProperties[name])
  const required = demanded.filter((name) => !isSent(name))
  const promised = new Set(listOf((direction === 'request' ? theirs : mine)['required']).map(String))
  const differences: Difference[] = required
    .filter((name) => !promised.has(name))
    .map((name) => narrower(`${field}.${name}: ${direction === 'request' ? 'required here' : 'not always there'}`))
  for (const [name, schema] of Object.entries(theirProperties)) {
    const own = myProperties[name]
    if (own !== undefined) differences.push(...into(`${field}.${name}`, schema, own))
    else if (!keeps(schema)) differences.push(narrower(`${field}.${name}: not there`))
  }
  for (const name of Object.keys(myProperties))
    if (!(name in theirProperties)) differences.push(wider(`${field}.${name}`))
  return differences
}

function isReadOnly(schema: unknown, document: Document): boolean {
  return resolve(document, schema)['readOnly'] === true
}

/** Lists the values that the contract allows and the server refuses. */
function refusals(field: string, theirs: Schema, mine: Schema): Difference[] {
  const theirTypes = typesOf(theirs)
  const myTypes = typesOf(mine)
  const refused = [...theirTypes].filter((type) => !takes(myTypes, type) && type !== 'null')
  if (myTypes.size > 0 && refused.length > 0) return [narrower(`${field}: ${refused.join(' or ')} refused`)]
  const differences: Difference[] = []
  const values = enumOf(mine)
  const gone = enumOf(theirs).filter((value) => value !== null && value !== '' && !values.includes(value))
  if (values.length > 0 && gone.length > 0) differences.push(narrower(`${field}: ${gone.join(', ')} refused`))
  if (values.length > 0 && enumOf(theirs).length === 0)
    differences.push(narrower(`${field}: only ${values.join(', ')}`))
  for (const [bound, sign] of [
    ['minimum', 1],
    ['maximum', -1],
  ] as const) {
    const [limit, own] = [theirs[bound], mine[bound]]
    if (typeof limit === 'number' && typeof own === 'number' && (own - limit) * sign > 0)
      differences.push(narrower(`${field}: ${bound} ${own} instead of ${limit}`))
  }
  return differences
}

/** Lists the values that the server returns and the contract's clients do not expect. */
function surprises(field: string, theirs: Schema, mine: Schema): Difference[] {
  const theirTypes = typesOf(theirs)
  if (theirTypes.size === 0) return []
  const odd = [...typesOf(mine)].filter((type) => !takes(theirTypes, type))
  return odd.length === 0 ? [] : [narrower(`${field}: ${odd.join(' or ')} instead of ${[...theirTypes].join(' or ')}`)]
}

function takes(types: ReadonlySet<string>, type: string): boolean {
  return types.has(type) || (type === 'integer' && types.has('number'))
}

/** Returns true for a schema without constraints, which accepts everything. */
function isOpen(schema: Schema): boolean {
  return typesOf(schema).size === 0 && !('properties' in schema)
}

function isAnyText(schema: Schema): boolean {
  return typesOf(schema).has('string') && enumOf(schema).length === 0
}

/** Returns the object or array among the alternatives if there is exactly one; otherwise the schema itself. */
function pick(schema: Schema, document: Document): Schema {
  const alternatives = alternativesOf(schema).map((alternative) => resolve(document, alternative))
  const structured = alternatives.filter((alternative) => 'properties' in alternative || 'items' in alternative)
  const [only] = structured
  if (only === undefined || structured.length > 1) return schema
  return { ...only, type: [...typesOf({ anyOf: alternatives })] }
}

function alternativesOf(schema: Schema): readonly unknown[] {
  return [...listOf(schema['anyOf']), ...listOf(schema['oneOf'])]
}

function typesOf(schema: Schema): Set<string> {
  const { type } = schema
  const own = Array.isArray(type) ? type.map(String) : typeof type === 'string' ? [type] : []
  const values = [...enumOf(schema), ...('const' in schema ? [schema['const']] : [])].map((value) =>
    value === null ? 'null' : typeof value,
  )
  const alternatives = alternativesOf(schema).filter(isSchema).map(typesOf)
  return new Set([own.length > 0 ? own : values, ...alternatives].flatMap((types) => Array.from(types)))
}

function enumOf(schema: Schema): readonly unknown[] {
  return listOf(schema['enum'])
}

function propertiesOf(schema: Schema): Schema {
  return isSchema(schema['properties']) ? schema['properties'] : {}
}
