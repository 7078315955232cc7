import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../src/platform/json/is-object.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import type { Answer } from '../support/servers/server.ts'
import type { Resource } from './resources.ts'
import {
  type Property,
  type Source,
  admits,
  isEmpty,
  propertiesOf,
  readOnlyPropertiesOf,
  typicalValues,
} from './schema-values.ts'

/**
 * The result of one value. `equal`: read as it was sent, and accepted again as it was read; `unset`: a null is read as
 * if the field had never been set; `unset by name`: likewise after `"-field": ""`; `refused`: a 400 that names the
 * field; `ignored`: accepted for a field that only the service sets, and not read; `altered`: anything else.
 */
export interface Outcome {
  readonly kind: string
  /** Such as `privileges.[].role`. */
  readonly field: string
  readonly value: unknown
  readonly result: 'equal' | 'unset' | 'unset by name' | 'refused' | 'ignored' | 'altered'
  /** True if the contract allows clients to send the value. */
  readonly isAdmitted: boolean
  /** The server's answer instead. */
  readonly detail: string
}

/** Lists the properties of its schema that the resource is used for. */
export function propertiesIn(
  source: Source,
  { schema, share: { index, of } }: Resource,
  isMeant: (property: Property) => boolean,
): Property[] {
  return propertiesOf(source, schema)
    .filter(isMeant)
    .filter((_, at) => at % of === index)
}

export interface Tried {
  readonly property: Property
  readonly value: unknown
}

export interface Writing {
  readonly source: Source
  readonly resource: Resource
  /** The object before any write. */
  readonly initial: AnyJson
  /** Further fields that the body unsets. */
  readonly unset: Readonly<Record<string, unknown>>
}

/** Writes one value of one property, with the object's required fields. */
export async function writeValue(
  { source, resource, initial, unset }: Writing,
  { property, value }: Tried,
): Promise<{ readonly answer: Answer; readonly outcome: Outcome }> {
  const body = { ...property.wrap(value), ...withoutTop(resource.base, property) }
  const answer = await resource.write({ ...unset, ...body })
  const isAdmitted = admits(source.document, property.schema, value)
  return { answer, outcome: { ...outcomeOf({ resource, property, value, body, answer, initial }), isAdmitted } }
}

/** Unsets each top-level property individually, for an object whose other fields can't be unset with the next write. */
export async function unsetValues(source: Source, resource: Resource): Promise<Outcome[]> {
  if (resource.canUnset || !resource.isUpdated) return []
  const outcomes: Outcome[] = []
  for (const property of propertiesIn(source, resource, ({ path }) => path.length === 1)) {
    const { base } = resource
    const [top = ''] = property.path
    await resource.write(base)
    const before = await resource.read()
    const answer = await resource.write({ ...withoutTop(base, property), [`-${top}`]: '' })
    const about = { kind: resource.name, field: top, value: 'unset', isAdmitted: false }
    const detail = `${answer.status} ${String(answer.body.detail)}`
    const isRefused = detail.startsWith(`400 Invalid field -${top}: `)
    const isUnset = answer.status === 200 && (isEmpty(before[top]) || !isDeepStrictEqual(answer.body[top], before[top]))
    outcomes.push({ ...about, result: isRefused ? 'refused' : isUnset ? 'unset by name' : 'altered', detail })
  }
  return outcomes
}

/** Creates an object with each property individually. */
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

/** Writes another value of each property that only the service sets, with the object's required fields. */
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

/** Decides whether a field that was unset by a write is read as before any write. */
export function unsetOutcome({ resource, property, answer, initial }: Omit<Written, 'value' | 'body'>): Outcome {
  const [top = ''] = property.path
  const { status, body } = answer
  const isUnset = status === 200 && (body[top] === undefined || isDeepStrictEqual(body[top], initial[top]))
  return {
    ...{ kind: resource.name, field: top, value: 'unset', isAdmitted: true },
    result: isUnset ? 'unset by name' : 'altered',
    detail: isUnset ? '' : `${status} ${String(body.detail)}, read ${JSON.stringify(body[top])}`,
  }
}

/** Returns the object's required fields, except the property itself. */
function withoutTop(base: Resource['base'], { path: [top = ''] }: Property): Resource['base'] {
  const { [top]: _, ...rest } = base
  return rest
}

/** Builds the part of a body that unsets properties. */
export function unsettingOf(
  properties: readonly Property[],
  { base, canUnset }: Resource,
): Readonly<Record<string, unknown>> {
  const tops = canUnset ? properties.map(({ path: [top = ''] }) => top).filter((top) => !(top in base)) : []
  return Object.fromEntries(tops.map((top) => [`-${top}`, '']))
}

interface Written {
  readonly resource: Resource
  readonly property: Property
  readonly value: unknown
  /** The requested content of the object. */
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

/** @param adds Members that the service adds to the sent value. */
export function isSame(read: unknown, sent: unknown, adds: readonly string[]): boolean {
  if (Array.isArray(read) && Array.isArray(sent))
    return read.length === sent.length && read.every((item, index) => isSame(item, sent[index], adds))
  if (!isObject(read) || !isObject(sent)) return isDeepStrictEqual(read, sent)
  const names = Object.keys(read).filter((name) => name in sent || !adds.includes(name))
  return (
    isDeepStrictEqual(new Set(names), new Set(Object.keys(sent))) &&
    names.every((name) => isSame(read[name], sent[name], adds))
  )
}

interface WrittenBack {
  readonly properties: readonly Property[]
  /** To the write of their values. */
  readonly answer: Answer
}

/** Reads the object, as the database has it, and writes it as it was read: nothing may change. */
export async function writeBack(resource: Resource, { properties, answer }: WrittenBack): Promise<Outcome[]> {
  const read = await resource.read()
  const { status, body } = await resource.write(read)
  const again = await resource.read()
  const without = ({ modified_time: _, ...rest }: AnyJson) => rest
  const isUnchanged = status === 200 && isDeepStrictEqual(without(again), without(read))
  return properties.map(({ path: [top = ''] }) => {
    const isEqual = isUnchanged && isDeepStrictEqual(read[top], answer.body[top])
    return {
      ...{ kind: resource.name, field: top, value: 'the object as it was read', isAdmitted: true },
      result: isEqual ? 'equal' : 'altered',
      detail: isEqual ? '' : `${status} ${String(body.detail)}, read ${JSON.stringify(again[top])}`,
    }
  })
}
