import type { Answer } from '../support/servers/server.ts'
import type { Resource } from './resources.ts'
import { EMPTY, type Property, type Source, typicalValues } from './schema-values.ts'
import { writeTogether } from './write-together.ts'
import {
  type Outcome,
  type Tried,
  type Writing,
  propertiesIn,
  unsetOutcome,
  unsettingOf,
  writeBack,
  writeValue,
} from './write-values.ts'

/**
 * Writes the top-level properties of an object: all empty values, every value of an enumeration, and a typical value of
 * each. One body has a value of each property, and unsets those of the body before. The typical values are then written
 * back as they were read, and unset. Values for which a common body is inconclusive are written individually.
 */
export async function writeTops(source: Source, resource: Resource): Promise<Outcome[]> {
  const properties = propertiesIn(source, resource, ({ path }) => path.length === 1)
  const values = properties.map((property) => ({ property, typical: typicalValues(source, property) }))
  const empty = EMPTY.map((value) => properties.map((property) => ({ property, value })))
  const mostValues = Math.max(0, ...values.map(({ typical }) => typical.length))
  const [first = [], ...further] = Array.from({ length: mostValues }, (_, index) =>
    values
      .filter(({ typical }) => index < typical.length)
      .map(({ property, typical }) => ({ property, value: typical[index] })),
  )
  const outcomes: Outcome[] = []
  const alone: Tried[] = []
  const initial = await resource.read()
  let former: readonly Property[] = []
  let unset: Writing['unset'] = {}
  for (const tried of [...empty, ...further, first]) {
    const found = await writeTogether({ source, resource, initial, unset }, tried)
    outcomes.push(...found.outcomes)
    alone.push(...found.alone)
    if (found.accepted === null) continue
    const { body, answer } = found.accepted
    const accepted = found.accepted.tried.map(({ property }) => property)
    const left = former.filter(({ path: [top = ''] }) => !(top in body))
    outcomes.push(...unsetOutcomes({ resource, initial, unset }, { properties: left, answer }))
    former = accepted
    unset = unsettingOf(accepted, resource)
    if (tried !== first) continue
    const back = resource.isUpdated ? await writeBack(resource, { properties: accepted, answer }) : []
    outcomes.push(...back.filter(({ result }) => result === 'equal'))
    // A setting may hide members of others from reads.
    const altered = new Set(back.filter(({ result }) => result !== 'equal').map(({ field }) => field))
    alone.push(...found.accepted.tried.filter(({ property: { path } }) => altered.has(path[0] ?? '')))
    outcomes.push(...(await unsetTogether({ source, resource, initial, unset }, accepted)))
    unset = {}
  }
  return outcomes.concat(await writeIndividually({ source, resource, initial, unset }, { alone, first }))
}

/** Unsets properties in one body, as `writing` says. */
async function unsetTogether(writing: Writing, properties: readonly Property[]): Promise<Outcome[]> {
  const { resource, unset } = writing
  if (Object.keys(unset).length === 0) return []
  return unsetOutcomes(writing, { properties, answer: await resource.write({ ...resource.base, ...unset }) })
}

/** Decides whether the properties that a body unset are read as before any write. */
function unsetOutcomes(
  { resource, initial, unset }: Omit<Writing, 'source'>,
  { properties, answer }: { readonly properties: readonly Property[]; readonly answer: Answer },
): Outcome[] {
  return properties
    .filter(({ path: [top = ''] }) => `-${top}` in unset)
    .map((property) => unsetOutcome({ resource, property, answer, initial }))
}

interface Individually {
  readonly alone: readonly Tried[]
  /** Values that are also written back as they were read. */
  readonly first: readonly Tried[]
}

/** Writes each value in a body of its own, and unsets it again with the next. */
async function writeIndividually(writing: Writing, { alone, first }: Individually): Promise<Outcome[]> {
  const { resource, initial } = writing
  const outcomes: Outcome[] = []
  let { unset } = writing
  let former: Property | null = null
  for (const tried of alone) {
    const { property } = tried
    const { answer, outcome } = await writeValue({ ...writing, unset }, tried)
    outcomes.push(outcome)
    if (answer.status !== 200) continue
    if (former !== null && former !== property)
      outcomes.push(...unsetOutcomes({ resource, initial, unset }, { properties: [former], answer }))
    former = property
    unset = unsettingOf([property], resource)
    if (resource.isUpdated && first.includes(tried))
      outcomes.push(...(await writeBack(resource, { properties: [property], answer })))
  }
  if (former !== null) outcomes.push(...(await unsetTogether({ ...writing, unset }, [former])))
  return outcomes
}
