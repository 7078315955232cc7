import { isObject } from '../../src/platform/json/is-object.ts'
import type { Answer } from '../support/servers/server.ts'
import type { Resource } from './resources.ts'
import { EMPTY, type Property, type Source, admits, typicalValues } from './schema-values.ts'
import { type Outcome, type Tried, type Writing, isSame, propertiesIn, writeValue } from './write-values.ts'

/**
 * Writes the members of objects, arrays and maps: a typical value and all empty ones of each. There are thousands, so
 * one body has that value for all members of one depth. Members for which such a body is inconclusive are written
 * individually.
 */
export async function writeMembers(source: Source, resource: Resource): Promise<Outcome[]> {
  const members = propertiesIn(source, resource, ({ path }) => path.length > 1)
  const writing = { source, resource, initial: await resource.read(), unset: {} }
  const outcomes: Outcome[] = []
  for (const sameDepth of Map.groupBy(members, ({ path }) => path.length).values()) {
    const typical = sameDepth.map((property) => ({ property, value: typicalValues(source, property)[0] }))
    const empty = EMPTY.map((value) => sameDepth.map((property) => ({ property, value })))
    for (const tried of [typical, ...empty]) outcomes.push(...(await writeTogether(writing, tried)))
  }
  return outcomes
}

/** Writes values of different properties in one body; those that are refused are taken out of it one after the other. */
async function writeTogether(writing: Writing, tried: readonly Tried[]): Promise<Outcome[]> {
  const { source, resource } = writing
  const outcomes: Outcome[] = []
  const alone: Tried[] = []
  let left = tried
  while (left.length > 0) {
    const body = { ...resource.base, ...bodyOf(left) }
    const answer = await resource.write(body)
    if (answer.status === 200) {
      const isEqual = ({
        property: {
          path: [top = ''],
        },
      }: Tried) => isSame(answer.body[top], body[top], resource.adds)
      outcomes.push(...left.filter(isEqual).map((one) => outcomeOf(writing, one, { result: 'equal', detail: '' })))
      alone.push(...left.filter((one) => !isEqual(one)))
      break
    }
    const { detail, refused } = refusedIn(answer, left)
    const isDecided =
      refused.length === 1 && refused.every(({ property, value }) => !admits(source.document, property.schema, value))
    if (isDecided) outcomes.push(...refused.map((one) => outcomeOf(writing, one, { result: 'refused', detail })))
    else alone.push(...refused)
    left = left.filter((one) => !refused.includes(one))
  }
  for (const one of alone) outcomes.push((await writeValue(writing, one)).outcome)
  return outcomes
}

function outcomeOf(
  { source, resource }: Writing,
  { property: { path, schema }, value }: Tried,
  result: Pick<Outcome, 'result' | 'detail'>,
): Outcome {
  const isAdmitted = admits(source.document, schema, value)
  return { kind: resource.name, field: path.join('.'), value, ...result, isAdmitted }
}

/** Finds the values that an answer refuses: those that it names, or all that are where it names something. */
function refusedIn(
  { status, body: { detail: text } }: Answer,
  left: readonly Tried[],
): { readonly detail: string; readonly refused: readonly Tried[] } {
  const detail = `${status} ${String(text)}`
  const [, named = ''] = /^400 Invalid field ([^:]+): /.exec(detail) ?? []
  const exact = left.filter(({ property }) => `${named}.`.startsWith(`${placeOf(property)}.`))
  const around = left.filter(({ property }) => `${placeOf(property)}.`.startsWith(`${named}.`))
  const [top = ''] = named.split('.')
  const besides = left.filter(({ property: { path } }) => path[0] === top)
  return { detail, refused: [exact, around, besides, left].find(({ length }) => length > 0) ?? left }
}

/** The path to the property in the body, as errors name it. */
function placeOf({ path }: Property): string {
  return path.map((name) => (name === '[]' ? '0' : name)).join('.')
}

/** Builds the body that has all of the values, and the fields that their parents require. */
function bodyOf(tried: readonly Tried[]): Record<string, unknown> {
  const body: Record<string, unknown> = {}
  for (const { property } of tried) mergeInto(body, property.wrap(null))
  for (const { property, value } of tried) setAt(body, property.path, value)
  return body
}

function mergeInto(target: Record<string, unknown>, more: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(more)) {
    const [present, [inner], [further]] = [target[name], listOf(target[name]), listOf(value)]
    if (isObject(present) && isObject(value)) mergeInto(present, value)
    else if (isObject(inner) && isObject(further)) mergeInto(inner, further)
    else if (present === undefined || present === null) target[name] = structuredClone(value)
  }
}

function setAt(body: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [name = '', next, ...rest] = path
  if (next === undefined) {
    body[name] = value
    return
  }
  const inner = next === '[]' ? listOf(body[name])[0] : body[name]
  if (!isObject(inner)) throw new Error(`no object at ${path.join('.')}`)
  setAt(inner, next === '[]' ? rest : [next, ...rest], value)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
