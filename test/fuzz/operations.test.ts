import fc from 'fast-check'
import { Compile } from 'typebox/compile'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Operation, fetchOpenApi, operationsOf } from '../support/contract/openapi.ts'
import { type Answer, type TestServer, startTestServer } from '../support/servers/server.ts'
import type { Ids } from '../tenancy/area.ts'
import { makeAreas } from '../tenancy/areas.ts'
import { type Hostility, type Schema, isSchema, textFor, valueOf } from './hostile.ts'

/**
 * The number of calls of every operation of the server's OpenAPI document, with values that match its schemas and
 * values that don't.
 */
const CALLS_EACH = 12
/** Runs repeat exactly; another seed gives another run: FUZZ_SEED=7 npm test -- test/fuzz */
const seed = Number(process.env['FUZZ_SEED'] ?? 1)

let server: TestServer
let operations: Operation[]
let ids: Ids

beforeAll(async () => {
  server = await startTestServer(undefined, { requestsPerHour: 1_000_000 })
  // Operations that delete run last, so that the others find something.
  operations = operationsOf(await fetchOpenApi(server)).sort((a, b) => Number(takesAway(a)) - Number(takesAway(b)))
  ids = (await makeAreas(server)).ids
})
afterAll(() => server.close())

const takesAway = ({ method }: Operation): boolean => method === 'DELETE'

interface Call {
  readonly path: string
  readonly body: unknown
}

/** Half of the calls are valid, because few hostile ones would pass the first check. */
function callsOf(operation: Operation): fc.Arbitrary<Call> {
  return fc.oneof(callsBy(operation, 0), callsBy(operation, 2))
}

function callsBy({ path, spec }: Operation, hostility: Hostility): fc.Arbitrary<Call> {
  const parameters = spec.parameters ?? []
  const inPath = fc.record(
    Object.fromEntries(
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
        const known = ids[name]
        const strange = textFor({ type: 'string' }, hostility)
        return [
          name,
          known === undefined
            ? strange
            : fc.oneof(
                { weight: 8 - hostility, arbitrary: fc.constant(known) },
                { weight: hostility, arbitrary: strange },
              ),
        ]
      }),
    ),
  )
  const inQuery = fc.record(
    Object.fromEntries(
      parameters
        .filter(({ in: place }) => place === 'query')
        .map(({ name, schema }) => [name, textFor(schema ?? {}, hostility)]),
    ),
    { requiredKeys: [] },
  )
  const bodySchema = spec.requestBody?.content?.['application/json']?.schema
  const body = isSchema(bodySchema) ? valueOf(bodySchema, hostility) : fc.constant(undefined)
  return fc.record({ inPath, inQuery, body }).map(({ inPath: names, inQuery: query, body: sent }) => ({
    path:
      path
        .replace('/api/v1', '')
        .replaceAll(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(String(names[name]))) +
      `?${new URLSearchParams(Object.entries(query).filter(isGiven)).toString()}`,
    body: sent,
  }))
}

function isGiven(entry: [string, string | undefined]): entry is [string, string] {
  return entry[1] !== undefined
}

/** The status for a path that another operation has. */
const beforeAnyOperation = new Set([405])

/** @returns The fault of the answer; null if it is correct. */
function objection({ spec }: Operation, { status, headers, body }: Answer): string | null {
  if (status >= 500) return 'a server error'
  const response = spec.responses[String(status)]
  if (String(Object(body).detail).length > 1500) return 'a refusal that repeats a long text'
  if (response === undefined) return beforeAnyOperation.has(status) ? null : 'a status that is not declared'
  const schema = response.content?.['application/json']?.schema
  if (!isSchema(schema) || headers.get('content-type')?.startsWith('application/json') !== true) return null
  const check = checkOf(schema)
  return check.Check(body) ? null : `an answer outside its schema: ${JSON.stringify(check.Errors(body)[0])}`
}

const checks = new Map<Schema, ReturnType<typeof Compile>>()

function checkOf(schema: Schema): ReturnType<typeof Compile> {
  const check = checks.get(schema) ?? Compile(schema)
  checks.set(schema, check)
  return check
}

it('answers any input as its document describes, and never with a server error', async () => {
  expect(operations.length).toBeGreaterThan(80)
  const objections: unknown[] = []
  let successes = 0
  for (const operation of operations)
    for (const { path, body } of fc.sample(callsOf(operation), { seed, numRuns: CALLS_EACH })) {
      const answer = await server.call(operation.method, path, { ...(body !== undefined && { body }) })
      if (answer.status === 200) successes += 1
      const why = objection(operation, answer)
      if (why !== null)
        objections.push({ operation: operation.id, why, status: answer.status, path, body, answer: answer.body })
    }
  expect(objections).toEqual([])
  // Otherwise the calls would have tried only the first check of each operation.
  expect(successes).toBeGreaterThan(operations.length)
}, 240_000)
