import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { rolesFor } from '../src/access/authorize.ts'
import type { Operation } from '../src/http/operation.ts'
import { type StateReader, openStateReader } from './support/database/database-state.ts'
import { type OpenApi, fetchOpenApi, operationsOf } from './support/contract/openapi.ts'
import { type Answer, type TestServer, startTestServer } from './support/servers/server.ts'
import { createTestClock } from './support/test-clock.ts'
import type { Ids, Sample, Samples } from './tenancy/area.ts'
import { makeAreas } from './tenancy/areas.ts'
import { callSample } from './tenancy/call-sample.ts'
import { type Standing, type TestCaller, addCallers, roles, standings } from './tenancy/callers.ts'
import { selfSamples } from './tenancy/self.ts'

const committed = JSON.parse(readFileSync(new URL('../docs/openapi.json', import.meta.url), 'utf8')) as OpenApi
const operationIds = operationsOf(committed).map(({ id }) => id)
const cells = operationIds.length * roles.length * standings.length

let server: TestServer
let ids: Ids
let samples: Samples
let callers: TestCaller[]
let stateReader: StateReader
/** The state after the latest case: no case changes anything. */
let state: Readonly<Record<string, string>>
beforeAll(async () => {
  server = await startTestServer(createTestClock())
  const areas = await makeAreas(server)
  ids = areas.ids
  samples = { ...areas.samples, ...selfSamples }
  callers = await addCallers(server, ids)
  // The first use of a token is written a minute later, which would be in the middle of some case.
  await Promise.all(callers.map(({ headers }) => server.call('GET', '/self', { as: null, headers })))
  await server.tokenUses.flush()
  stateReader = await openStateReader(server.ctx.db, server.database.connection)
  state = await stateReader.read()
})
afterAll(async () => {
  await stateReader.close()
  await server.close()
})

/**
 * Operations whose samples name an object without a site: callers limited to some sites pass the access check but do
 * not find it.
 */
const ofNoSite = new Set([
  'getOrgMxEdge',
  'getOrgMxEdgeStats',
  'getOrgMxEdgeVmParams',
  'getOrgSiteGroup',
  'listOrgMxEdgeCommands',
])

/** Reads that store their result. */
const storingReads = new Set(['generateSecretFor2faVerification'])

const limited: ReadonlySet<Standing> = new Set(['all sites', 'site group', 'one site', 'another site'])

type Outcome = 'let in' | 401 | 403 | 404

/** Decides the outcome that the declaration of an operation promises a caller. */
function decideOutcome({ at }: Pick<Operation, 'at'>, { role, standing }: Omit<TestCaller, 'headers'>): Outcome {
  const { audience, needs, path, beforeSecondFactor } = at
  if (audience === 'nobody') return 'let in'
  if (standing === 'half session' && !beforeSecondFactor) return 401
  if (audience === 'self') return 'let in'
  if (audience === 'person') return standing === 'organization token' ? 403 : 'let in'
  if (standing === 'stranger') return 404
  if (path.startsWith('/sites/:site_id') && standing === 'another site') return 404
  if (needs === null || !rolesFor(needs).includes(role)) return 403
  if (audience === 'org' && limited.has(standing)) return 403
  return path.includes(':site_name') && standing === 'another site' ? 404 : 'let in'
}

it('covers exactly the operations that are declared and documented', async () => {
  const declared = server.operations.map(
    ({ id, method, at }) => `${id}: ${String(method)} /api/v1${at.path.replace(/\(.*?\)/g, '')}`,
  )
  const documented = operationsOf(await fetchOpenApi(server)).map(
    ({ id, method, path }) => `${id}: ${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
  )
  expect(declared.sort()).toEqual(documented.sort())
  expect(server.operations.map(({ id }) => id).sort()).toEqual(operationIds.toSorted())
})

it('lists the roles that satisfy each need', () => {
  expect(rolesFor('read')).toEqual(['admin', 'write', 'read', 'helpdesk'])
  expect(rolesFor('operate')).toEqual(['admin', 'write', 'helpdesk'])
  expect(rolesFor('install')).toEqual(['admin', 'write', 'installer'])
  expect(rolesFor('write')).toEqual(['admin', 'write'])
  expect(rolesFor('admin')).toEqual(['admin'])
})

it(`has ${cells} cells, more than half of them refused`, () => {
  expect(cells).toBeGreaterThan(7500)
  const outcomes = server.operations.flatMap((operation) =>
    callers.map((caller) => [caller, decideOutcome(operation, caller)] as const),
  )
  expect(outcomes).toHaveLength(cells)
  const refused = outcomes.filter(([, outcome]) => outcome !== 'let in')
  expect(refused.length).toBeGreaterThan(4500)
})

it('compares the rows of every table', () => {
  const tables = Object.keys(state)
  expect(tables).toEqual(expect.arrayContaining(['org', 'site', 'device', 'session', 'audit_log', 'device_command']))
  expect(tables.length).toBeGreaterThan(50)
})

it.each(operationIds)(
  '%s admits the callers that it declares, and refused calls and reads change nothing',
  async (id) => {
    const operation = server.operations.find((declared) => declared.id === id)
    if (operation === undefined) throw new Error(`${id} is not declared`)
    const sample = samples[id] ?? {}
    const outcomes = callers.map((caller) => ({ caller, outcome: decideOutcome(operation, caller) }))
    const wrong: string[] = []
    const check = async ({ caller, outcome }: (typeof outcomes)[number]) => {
      const answer = await call(operation, sample, caller)
      if (!isExpected(answer, { operation, caller, outcome }))
        wrong.push(
          `${caller.role}, ${caller.standing}: ${answer.status}, not ${outcome}: ${JSON.stringify(answer.body)}`,
        )
    }
    await Promise.all(outcomes.filter(({ outcome }) => outcome !== 'let in').map(check))
    // Any other successful call would change the state that later calls need.
    const reads = operation.method === 'GET' && !storingReads.has(id)
    if (reads) await Promise.all(outcomes.filter(({ outcome }) => outcome === 'let in').map(check))
    const before = state
    state = await stateReader.read()
    expect({ wrong, state }).toEqual({ wrong: [], state: before })
  },
)

/** Calls the operation in the organization and the site of the callers, even if the sample names others. */
function call(operation: Operation, sample: Sample, { headers }: TestCaller): Promise<Answer> {
  const { org_id = '', site_id = '', site_name = '' } = ids
  const own = { ...ids, ...sample.ids, org_id, site_id, site_name }
  return callSample(server, operation, { sample, ids: own, as: null, headers })
}

interface Expected {
  readonly operation: Operation
  readonly caller: TestCaller
  readonly outcome: Outcome
}

function isExpected({ status, body }: Answer, { operation: { id, at }, caller, outcome }: Expected): boolean {
  const isNotFound = status === 404 && body.detail === 'Not found.'
  if (outcome === 404) return isNotFound
  if (outcome !== 'let in') return status === outcome
  // If no role counts, access is never refused with 404: the sample names nothing that the caller has.
  const mayFindNothing = at.needs === null || (ofNoSite.has(id) && limited.has(caller.standing))
  // All callers share an address, and operations without credentials are rate limited per address.
  const mayBeTooMany = at.audience === 'nobody' && status === 429
  return status === 200 || mayBeTooMany || (mayFindNothing && isNotFound)
}
