import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Operation, fetchOpenApi, operationsOf } from '../support/contract/openapi.ts'
import { type Answer, type TestServer, startTestServer } from '../support/servers/server.ts'
import { type Areas, makeAreas } from '../tenancy/areas.ts'
import { type Probe, type Schema, exampleOf, probesOf } from './probes.ts'

/*
 * Each constraint that the published document declares is tried with a value that only just fails it and one that only
 * just meets it. A constraint that several operations declare for a field of the same name is tried once.
 */

interface Call extends Probe {
  readonly operation: Operation
  readonly path: string
  readonly body: unknown
}

let server: TestServer
let areas: Areas
let calls: Call[]
beforeAll(async () => {
  server = await startTestServer(undefined, { requestsPerHour: 1_000_000 })
  areas = await makeAreas(server)
  const operations = operationsOf(await fetchOpenApi(server))
  const all = operations.flatMap((operation) => queryCallsOf(operation).concat(bodyCallsOf(operation)))
  calls = [...Map.groupBy(all, ({ kind }) => kind).values()].flatMap(([first]) => (first === undefined ? [] : [first]))
})
afterAll(() => server.close())

function pathOf({ id, path, spec }: Operation, query: Readonly<Record<string, string>> = {}): string {
  const sample = areas.samples[id]
  const ids: Readonly<Record<string, string>> = { ...areas.ids, ...sample?.ids }
  const filled = path.replace('/api/v1', '').replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const parameter = spec.parameters?.find((given) => given.in === 'path' && given.name === name)
    return encodeURIComponent(ids[name] ?? String(exampleOf(parameter?.schema)))
  })
  const required = (spec.parameters ?? []).filter((given) => given.in === 'query' && given.required === true)
  const examples = required.map(({ name, schema }): [string, string] => [name, String(exampleOf(schema))])
  const parameters = new URLSearchParams(sample?.query ?? examples)
  for (const [name, value] of Object.entries(query)) parameters.set(name, value)
  return `${filled}?${parameters.toString()}`
}

function bodyCallsOf(operation: Operation): Call[] {
  const schema = operation.spec.requestBody?.content?.['application/json']?.schema
  if (schema === undefined) return []
  const path = pathOf(operation)
  const sample = areas.samples[operation.id]?.body ?? exampleOf(schema)
  return probesOf(schema as Schema, sample).map((probe) => Object.assign(probe, { operation, path, body: probe.value }))
}

/** An empty parameter counts as none. */
function queryCallsOf(operation: Operation): Call[] {
  const body = areas.samples[operation.id]?.body
  return (operation.spec.parameters ?? [])
    .filter((parameter) => parameter.in === 'query')
    .flatMap(({ name, schema = {} }) =>
      probesOf(schema, undefined)
        .filter(({ field, value }) => field === '' && value !== '')
        .map((probe) => {
          const path = pathOf(operation, { [name]: String(probe.value) })
          return Object.assign(probe, { operation, path, body, field: name, kind: `${name} ${probe.kind}` })
        }),
    )
}

const send = ({ operation: { method }, path, body }: Call): Promise<Answer> =>
  server.call(method, path, { ...(body !== undefined && { body }) })

/** For messages. */
const shown = ({ operation: { id }, field, keyword, value }: Call, { status, body }: Answer): unknown => ({
  ...{ id, field, keyword, status, detail: body?.detail },
  value: JSON.stringify(value).slice(0, 200),
})

/** True if an answer refuses the field; for a field in a list, the list or the field. */
function refuses({ field }: Call, { status, body }: Answer): boolean {
  const refused = /^Invalid field ([^:]+):/.exec(String(body?.detail))?.[1]
  if (status !== 400 || refused === undefined) return false
  return refused === (field || 'body') || `${field}.`.startsWith(`${refused}.`) || field === ''
}

it('refuses a value that only just fails a constraint, and names its field', async () => {
  const outside = calls.filter(({ isInside }) => !isInside)
  const wrong: unknown[] = []
  for (const call of outside) {
    const answer = await send(call)
    if (!refuses(call, answer)) wrong.push(shown(call, answer))
  }
  expect(wrong).toEqual([])
  expect(outside.length).toBeGreaterThan(300)
}, 120_000)

/** Why a value may be refused that meets the constraints of its field. No schema can state these. */
const furtherReasons: Readonly<Record<string, RegExp>> = {
  'what exists':
    /(?:no|not|not an?) (?:known|device|edge|firmware|map|model|of|router|site|such|the id|version)|there is no|names no|another|is in stable|the image's SHA/u,
  'what other fields say':
    /does not belong|is required|is for |is given with|allowed only with|needs a version|no version requested|phase of/u,
  'what the description of the field excludes':
    /not supported|only empty|can't be (?:set|fetched|changed)|alone|not possible|no device can do/u,
  'the caller has to prove who they are': /is wrong/u,
  'what a pattern can not express':
    /public key|PEM of|host name|must rise|of the form|longer than 64 characters|must be one of|ISO 8601|has no condition|expected "\$" at character 1|address or a range|must have 1 to 200 printable/u,
}

it('takes a value that only just meets all constraints', async () => {
  const inside = calls.filter(({ isInside }) => isInside)
  const wrong: unknown[] = []
  let taken = 0
  for (const call of inside) {
    const answer = await send(call)
    if (answer.status === 200) taken += 1
    const isExplained = Object.values(furtherReasons).some((reason) => reason.test(answer.body?.detail))
    if (answer.status >= 500 || (refuses(call, answer) && !isExplained)) wrong.push(shown(call, answer))
  }
  expect(wrong).toEqual([])
  expect(taken / inside.length).toBeGreaterThan(0.5)
}, 120_000)
