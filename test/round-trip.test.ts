import { afterAll, beforeAll, expect, it } from 'vitest'
import { ignoredFields, refusedValues, unsetByNull } from '../scripts/contract/refusals.ts'
import { type Resource, makeResources } from './round-trip/resources.ts'
import type { Source } from './round-trip/schema-values.ts'
import { writeMembers } from './round-trip/write-members.ts'
import { writeTops } from './round-trip/write-tops.ts'
import { type Outcome, createWithValues, unsetValues, writeReadOnly } from './round-trip/write-values.ts'
import { hasContract, readAddedBodies, readAddedProperties, readContract } from './support/contract/contract.ts'
import { type TestServer, startTestServer } from './support/servers/server.ts'
import { createTestClock } from './support/test-clock.ts'

let server: TestServer
let outcomes: readonly Outcome[] = []
let readOnly: readonly Outcome[] = []
beforeAll(async () => {
  if (!hasContract) return
  // Invitations are sent again with every change, and then expire later: the time stands still.
  server = await startTestServer(createTestClock(), { requestsPerHour: 1_000_000 })
  const [contract, added] = [readContract(), readAddedProperties()]
  const schemas = { ...contract.components?.['schemas'], ...readAddedBodies() }
  const document = { ...contract, components: { ...contract.components, schemas } }
  const sourceOf = ({ known, beside }: Resource): Source => ({ document, added, known, beside })
  const resources = await makeResources(server)
  const found = await Promise.all(
    resources.map(async (resource) => {
      const source = sourceOf(resource)
      const written = await writeTops(source, resource)
      const [members, unset] = [await writeMembers(source, resource), await unsetValues(source, resource)]
      return written.concat(members, unset, await createWithValues(source, resource))
    }),
  )
  outcomes = found.flat()
  const first = resources.filter(({ share }) => share.index === 0)
  readOnly = (await Promise.all(first.map((resource) => writeReadOnly(sourceOf(resource), resource)))).flat()
}, 300_000)
afterAll(async () => {
  if (hasContract) await server.close()
})

const named = ({ kind, field }: Outcome) => `${kind}: ${field}`
const told = (outcome: Outcome) => `${named(outcome)} = ${JSON.stringify(outcome.value)}: ${outcome.detail}`

it.skipIf(!hasContract)('returns every property of the contract as it was written, or refuses it by name', () => {
  const count = (result: Outcome['result']) => outcomes.filter((outcome) => outcome.result === result).length
  const properties = new Set(outcomes.map(named)).size
  const unset = `${count('unset')} unset by null, ${count('unset by name')} unset by name`
  const counts = `${count('equal')} equal, ${unset}, ${count('refused')} refused by name`
  // oxlint-disable-next-line no-console -- The counts are the result of this suite.
  console.log(`round trips: ${properties} properties with ${outcomes.length} values: ${counts}`)
  expect(outcomes.filter(({ result }) => result === 'altered').map(told)).toEqual([])
  expect(properties).toBeGreaterThan(2500)
})

it.skipIf(!hasContract)('refuses only values of the contract that have a declared reason, and all of those', () => {
  const refused = outcomes.filter(({ result, isAdmitted }) => result === 'refused' && isAdmitted)
  const declared = refusedValues.flatMap(({ kinds, fields, words }) =>
    kinds.flatMap((kind) => fields.map((field) => ({ kind, field, words }))),
  )
  const isSame = (outcome: Outcome, { kind, field, words }: (typeof declared)[number]) =>
    outcome.kind === kind && outcome.field === field && outcome.detail.includes(words)
  const undeclared = refused.filter((outcome) => !declared.some((entry) => isSame(outcome, entry)))
  expect(undeclared.map(told)).toEqual([])
  const gone = declared.filter((entry) => !outcomes.some((outcome) => isSame(outcome, entry)))
  expect(gone).toEqual([])
})

it.skipIf(!hasContract)('unsets by null only the fields that are declared', () => {
  const unset = new Set(outcomes.filter(({ result }) => result === 'unset').map(named))
  const declared = unsetByNull.flatMap(({ kinds, fields }) =>
    kinds.flatMap((kind) => fields.map((field) => `${kind}: ${field}`)),
  )
  expect([...unset].toSorted()).toEqual(declared.toSorted())
})

it.skipIf(!hasContract)('refuses another value of a field that only the service sets, by the name of the field', () => {
  expect(readOnly.length).toBeGreaterThan(120)
  expect(readOnly.filter(({ result }) => result === 'altered').map(told)).toEqual([])
  const ignored = readOnly.filter(({ result }) => result === 'ignored').map(named)
  const declared = ignoredFields.flatMap(({ kinds, fields }) =>
    kinds.flatMap((kind) => fields.map((field) => `${kind}: ${field}`)),
  )
  expect(ignored.toSorted()).toEqual(declared.toSorted())
})
