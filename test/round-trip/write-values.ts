import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../src/platform/is-object.ts'
import type { AnyJson } from '../support/any-json.ts'
import type { Answer } from '../support/server.ts'
import type { Resource } from './resources.ts'
import {
  EMPTY,
  type Property,
  type Source,
  admits,
  ownEmpty,
  propertiesOf,
  readOnlyPropertiesOf,
  typicalValues,
} from './schema-values.ts'

/**
 * What became of one value. `equal`: read as it was sent, and accepted again as it was read; `unset`: a null is read as
 * if the field had never been set; `refused`: a 400 that names the field; `ignored`: accepted for a field that only the
 * service sets, and not read; `altered`: anything else.
 */
export interface Outcome {
  readonly kind: string
  /** Such as `privileges.[].role`. */
  readonly field: string
  readonly value: unknown
  readonly result: 'equal' | 'unset' | 'refused' | 'ignored' | 'altered'
  /** Whether the contract lets clients send the value. */
  readonly isAdmitted: boolean
  /** What the server has answered instead. */
  readonly detail: string
}

/** Writes each value of each property alone, and unsets it again with the next. */
export async function writeValues(source: Source, resource: Resource): Promise<Outcome[]> {
  const { index, of } = resource.share
  const all = propertiesOf(source, resource.schema)
  const properties = all.filter((_, at) => at % of === index)
  const initial = await resource.read()
  const outcomes: Outcome[] = []
  let unset: Record<string, unknown> = {}
  for (const property of properties) {
    for (const [index, value] of valuesOf(source, property, all.length > MANY).entries()) {
      const body = { ...property.wrap(value), ...withoutTop(resource.base, property) }
      const answer = await resource.write({ ...unset, ...body })
      outcomes.push({
        ...outcomeOf({ resource, property, value, body, answer, initial }),
        isAdmitted: admits(source.document, property.schema, value),
      })
      if (answer.status !== 200) continue
      unset = unsetting(property, resource)
      if (index === 0 && property.path.length === 1) outcomes.push(await writeBack(resource, { property, answer }))
    }
  }
  return outcomes
}

/** Creates an object with each property alone. */
export async function createWithValues(source: Source, resource: Resource): Promise<Outcome[]> {
  const { create } = resource
  if (create === null) return []
  const outcomes: Outcome[] = []
  for (const property of propertiesOf(source, resource.schema).filter(({ path }) => path.length === 1)) {
    const [value] = typicalValues(source, property)
    const body = property.wrap(value)
    const answer = await create(body, property.path[0] ?? '')
    outcomes.push({ ...outcomeOf({ resource, property, value, body, answer, initial: {} }), isAdmitted: true })
  }
  return outcomes
}

/** Writes another value of each property that only the service sets, with what the object must have. */
export async function writeReadOnly(source: Source, resource: Resource): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const initial = await resource.read()
  for (const property of readOnlyPropertiesOf(source, resource.schema)) {
    const [top = ''] = property.path
    const value = anotherThan(initial[top] ?? typicalValues(source, property)[0])
    const body = { ...resource.base, ...property.wrap(value) }
    const answer = await resource.write(body)
    const outcome = outcomeOf({ resource, property, value, body, answer, initial })
    const isIgnored = outcome.result === 'altered' && answer.status === 200
    outcomes.push({ ...outcome, ...(isIgnored && { result: 'ignored' }), isAdmitted: false })
  }
  return outcomes
}

/** Another value of the same type. */
function anotherThan(value: unknown): unknown {
  if (typeof value === 'boolean') return !value
  if (typeof value === 'number') return value + 1000
  if (typeof value !== 'string') return { other: true }
  return /^[0-9a-f-]{36}$/.test(value) ? randomUUID() : `other${value}`
}

/** Above this number of properties, a member of an object gets one value, alternately a typical and an empty one. */
const MANY = 200

/** Members of objects get two values: all values of all would take minutes. */
function valuesOf(source: Source, property: Property, isOneOfMany: boolean): readonly unknown[] {
  const { path, schema } = property
  const typical = typicalValues(source, property)
  if (path.length === 1) return [...typical, ...EMPTY]
  if (!isOneOfMany) return [typical[0], ownEmpty(schema)]
  return [path.join().length % 2 === 0 ? typical[0] : ownEmpty(schema)]
}

/** What the object must have, except the property itself. */
function withoutTop(base: Resource['base'], { path: [top = ''] }: Property): Resource['base'] {
  const { [top]: _, ...rest } = base
  return rest
}

function unsetting({ path: [top = ''] }: Property, { base, canUnset }: Resource): Record<string, unknown> {
  return top in base || !canUnset ? {} : { [`-${top}`]: '' }
}

interface Written {
  readonly resource: Resource
  readonly property: Property
  readonly value: unknown
  /** What the object was to have. */
  readonly body: Readonly<Record<string, unknown>>
  readonly answer: Answer
  /** The object before any write. */
  readonly initial: AnyJson
}

function outcomeOf({ resource, property, value, body, answer, initial }: Written): Omit<Outcome, 'isAdmitted'> {
  const [top = ''] = property.path
  const about = { kind: resource.name, field: property.path.join('.'), value }
  if (answer.status !== 200) {
    const detail = `${answer.status} ${String(answer.body.detail)}`
    return { ...about, result: detail.startsWith(`400 Invalid field ${top}`) ? 'refused' : 'altered', detail }
  }
  const read: unknown = answer.body[top]
  if (isSame(read, body[top], resource.adds)) return { ...about, result: 'equal', detail: '' }
  const isUnset = (value === null || value === '') && isDeepStrictEqual(read, initial[top])
  return { ...about, result: isUnset ? 'unset' : 'altered', detail: `read ${JSON.stringify(read)}` }
}

/** @param adds Members that the service adds to what was sent. */
function isSame(read: unknown, sent: unknown, adds: readonly string[]): boolean {
  if (Array.isArray(read) && Array.isArray(sent))
    return read.length === sent.length && read.every((item, index) => isSame(item, sent[index], adds))
  if (!isObject(read) || !isObject(sent)) return isDeepStrictEqual(read, sent)
  const names = Object.keys(read).filter((name) => name in sent || !adds.includes(name))
  return (
    isDeepStrictEqual(new Set(names), new Set(Object.keys(sent))) &&
    names.every((name) => isSame(read[name], sent[name], adds))
  )
}

/** Reads the object, as the database has it, and writes it as it was read: nothing may change. */
async function writeBack(
  resource: Resource,
  { property: { path }, answer }: Pick<Written, 'property' | 'answer'>,
): Promise<Outcome> {
  const [top = ''] = path
  const read = await resource.read()
  const { status, body } = await resource.write(read)
  const again = await resource.read()
  const without = ({ modified_time: _, ...rest }: AnyJson) => rest
  const isEqual =
    status === 200 && isDeepStrictEqual(read[top], answer.body[top]) && isDeepStrictEqual(without(again), without(read))
  return {
    ...{ kind: resource.name, field: path.join('.'), value: 'the object as it was read', isAdmitted: true },
    result: isEqual ? 'equal' : 'altered',
    detail: isEqual ? '' : `${status} ${String(body.detail)}`,
  }
}
