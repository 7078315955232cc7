import type { Resource } from './resources.ts'
import { EMPTY, type Source, typicalValues } from './schema-values.ts'
import { writeTogether } from './write-together.ts'
import { type Outcome, propertiesIn, writeValue } from './write-values.ts'

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
    for (const tried of [typical, ...empty]) {
      const { outcomes: found, alone } = await writeTogether(writing, tried)
      outcomes.push(...found)
      for (const one of alone) outcomes.push((await writeValue(writing, one)).outcome)
    }
  }
  return outcomes
}
