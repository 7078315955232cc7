import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Operation, contentOf } from '../../../../src/http/operation.ts'
import { isObject } from '../../../../src/platform/json/is-object.ts'
import { addBox } from '../../../edge/upgrades/upgrade-world.ts'
import type { AnyJson } from '../../../support/contract/any-json.ts'
import { type Answer, type TestServer, startTestServer } from '../../../support/servers/server.ts'
import type { Areas } from '../../../tenancy/areas.ts'
import { makeAreas } from '../../../tenancy/areas.ts'
import { callSample } from '../../../tenancy/call-sample.ts'

let server: TestServer
let areas: Areas
beforeAll(async () => {
  server = await startTestServer(undefined, { requestsPerHour: 1_000_000 })
  areas = await makeAreas(server)
}, 60_000)
afterAll(() => server.close())

const FIELD = 'no_such_field'

/** Null if the operation accepts only a form or a file. */
function bodyOf({ schema, method }: Operation, sample: unknown): unknown {
  if (String(method) === 'GET') return null
  if (schema.body !== undefined && !('application/json' in contentOf(schema.body))) return null
  if (Array.isArray(sample)) return isObject(sample[0]) ? [{ ...sample[0], [FIELD]: 'sent' }] : null
  return sample === undefined || isObject(sample) ? { ...sample, [FIELD]: 'sent' } : null
}

async function callWithField(operation: Operation): Promise<Answer | null> {
  const sample = areas.samples[operation.id]
  if (sample === undefined) return null
  const body = bodyOf(operation, sample.body)
  if (body === null) return null
  return callSample(server, operation, { sample: { ...sample, body }, ids: { ...areas.ids, ...sample.ids } })
}

/** True if the answer names the field as refused, or contains it as it was sent. */
function isExact({ status, body }: Answer): boolean {
  if (status === 400) return String(body.detail).includes(FIELD)
  const [record]: AnyJson[] = Array.isArray(body) ? body : [body]
  return status === 200 && record?.[FIELD] === 'sent'
}

it('stores an unknown field, or refuses it by its name', async () => {
  const answers = new Map<string, Answer>()
  // In the order of the samples: operations that delete come last.
  const byId = new Map(server.operations.map((operation) => [operation.id, operation]))
  for (const id of Object.keys(areas.samples)) {
    const operation = byId.get(id)
    const answer = operation === undefined ? null : await callWithField(operation)
    if (answer !== null) answers.set(id, answer)
  }
  const wrong = [...answers]
    .filter(([, answer]) => !isExact(answer))
    .map(([id, { status, body }]) => ({ id, status, body }))
  expect(wrong).toEqual([])
  expect(answers.get('restartSiteDevice')?.status).toBe(400)
  expect(answers.get('updateSiteInfo')?.status).toBe(200)
  expect(answers.size).toBeGreaterThan(80)
}, 60_000)

it('takes fields that a client leaves unset, also those that only the service sets', async () => {
  const { orgId } = server.org
  const privileges = [{ scope: 'org', role: 'read' }]
  const unset = { '-id': '', '-org_id': '', '-created_time': '' }
  const writes = [
    [`/orgs/${orgId}/apitokens`, { name: 'unset', privileges, '-src_ips': '', ...unset }],
    [`/orgs/${orgId}/ssoroles`, { name: 'unset', privileges, '-site_id': '', ...unset }],
    [`/orgs/${orgId}/sitegroups`, { name: 'unset', '-site_ids': '', ...unset }],
  ] as const
  for (const [path, body] of writes) {
    const created = await server.call('POST', path, { body })
    expect(created).toMatchObject({ status: 200, body: { name: 'unset', org_id: orgId } })
    const one = `${path}/${created.body.id}`
    expect(await server.call('PUT', one, { body })).toMatchObject({ status: 200, body: { id: created.body.id } })
  }
})

it('unsets fields of records that keep nothing else, or names those that must be set', async () => {
  const org = `/orgs/${server.org.orgId}`
  const privileges = [{ scope: 'org', role: 'read' }]
  const names = { first_name: 'Ada', last_name: 'Lovelace' }
  const records = [
    { list: `${org}/invites`, body: { email: 'unset@example.test', privileges, ...names, hours: 2 } },
    { list: '/self/apitokens', body: { name: 'Mine', password: server.org.password } },
    {
      list: `${org}/mxedges/upgrade`,
      body: {
        versions: { tunterm: '2.0.0' },
        mxedge_ids: [await addBox(server)],
        start_time: Math.floor(Date.now() / 1000) + 3600,
        strategy: 'canary',
        max_failure_percentage: 7,
      },
    },
    { list: `${org}/ssoroles`, body: { name: 'Unset', privileges } },
    { list: `${org}/apitokens`, body: { name: 'Unset', privileges } },
  ]
  const made = await Promise.all(records.map(({ list, body }) => server.call('POST', list, { body })))
  expect(made.filter(({ status }) => status !== 200)).toEqual([])
  const unset = (index: number, ...fields: string[]) =>
    server.call('PUT', `${records[index]?.list}/${made[index]?.body.id}`, {
      body: Object.fromEntries(fields.map((field) => [`-${field}`, ''])),
    })
  const invite = (await unset(0, 'first_name', 'hours')).body
  expect(invite).toMatchObject({ last_name: 'Lovelace', hours: 24 })
  expect(invite).not.toHaveProperty('first_name')
  expect(await unset(1, 'name')).toMatchObject({ status: 200, body: { name: 'API token' } })
  const upgrade = (await unset(2, 'max_failure_percentage', 'strategy')).body
  expect(upgrade).toMatchObject({ id: made[2]?.body.id, strategy: 'big_bang' })
  expect(upgrade).not.toHaveProperty('max_failure_percentage')
  for (const [index, field] of [
    [0, 'privileges'],
    [3, 'name'],
    [3, 'privileges'],
    [4, 'name'],
  ] as const)
    expect(await unset(index, field)).toMatchObject({
      status: 400,
      body: { detail: `Invalid field -${field}: can't be unset` },
    })
  expect(
    await server.call('PUT', `${org}/invites/${made[0]?.body.id}`, { body: { hours: 3, '-hours': '' } }),
  ).toMatchObject({ status: 400, body: { detail: 'Invalid field -hours: contradicts hours' } })
})
