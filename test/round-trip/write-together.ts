import { isObject } from '../../src/platform/json/is-object.ts'
import type { Answer } from '../support/servers/server.ts'
import { type Property, admits } from './schema-values.ts'
import { type Outcome, type Tried, type Writing, isSame } from './write-values.ts'

interface Accepted {
  readonly tried: readonly Tried[]
  readonly body: Readonly<Record<string, unknown>>
  readonly answer: Answer
}

interface Together {
  /** Of the values that are read as they were written, or are refused by name. */
  readonly outcomes: readonly Outcome[]
  /** Values for which a common body is inconclusive: they must be written individually. */
  readonly alone: readonly Tried[]
  /** The body that was accepted, and its values; null: none was. */
  readonly accepted: Accepted | null
}

/** Writes values of different properties in one body; those that are refused are taken out of it one after the other. */
export async function writeTogether(writing: Writing, tried: readonly Tried[]): Promise<Together> {
  const { source, resource, unset } = writing
  const outcomes: Outcome[] = []
  const alone: Tried[] = []
  let left = tried
  while (left.length > 0) {
    const body = { ...resource.base, ...bodyOf(left) }
    const answer = await resource.write({ ...unset, ...body })
    if (answer.status === 200) {
      const isEqual = ({
        property: {
          path: [top = ''],
        },
      }: Tried) => isSame(answer.body[top], body[top], resource.adds)
      outcomes.push(...left.filter(isEqual).map((one) => outcomeOf(writing, one, { result: 'equal', detail: '' })))
      alone.push(...left.filter((one) => !isEqual(one)))
      return { outcomes, alone, accepted: { tried: left, body, answer } }
    }
    const { detail, refused } = refusedIn(answer, left)
    const isDecided =
      refused.length === 1 && refused.every(({ property, value }) => !admits(source.document, property.schema, value))
    if (isDecided) outcomes.push(...refused.map((one) => outcomeOf(writing, one, { result: 'refused', detail })))
    else alone.push(...refused)
    left = left.filter((one) => !refused.includes(one))
  }
  return { outcomes, alone, accepted: null }
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
