import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

/** More than are counted. */
const ATTEMPTS = 100_300
const COUNTED = 100_000
/** The only failure is among the oldest attempts, and so is the only 204. */
const RARE = 100_200

let server: TestServer
let path: string
beforeAll(async () => {
  server = await startTestServer()
  const hooks = `/orgs/${server.org.orgId}/webhooks`
  const body = { name: 'Busy', url: 'http://127.0.0.1:9/', topics: ['audits'], enabled: false }
  const { id } = (await server.call('POST', hooks, { body })).body
  path = `${hooks}/${id}/events`
  // The oldest attempt took longest.
  await sql`
    insert into webhook_delivery (org_id, id, webhook_id, message_id, topic, attempt, status, status_code, error, req_url,
      created_at, duration_ms, final)
    select ${server.org.orgId}::uuid, gen_random_uuid(), ${id}::uuid, gen_random_uuid(), 'audits', 1,
      case when code = 503 then 'failure' else 'success' end, code, case when code = 503 then 'answered 503' end,
      'http://127.0.0.1:9/', now() - n * interval '500 ms', n, true
    from generate_series(1, ${ATTEMPTS}::integer) as n
    cross join lateral (select case n when ${RARE} then 503 when ${RARE} + 1 then 204 else 200 end as code) as answered
  `.execute(server.ctx.db)
})
afterAll(() => server.close())

const search = async (query: string): Promise<AnyJson> => (await server.call('GET', `${path}/search?${query}`)).body
const durationsOf = ({ results }: AnyJson): number[] => results.map(({ duration_ms: ms }: AnyJson) => ms)
const from = (first: number, count: number): number[] => Array.from({ length: count }, (_, place) => first + place)

it('counts the newest hundred thousand attempts of a webhook, and lists those beyond on request', async () => {
  const first = await search('limit=3')
  expect(first).toMatchObject({ total: COUNTED, limit: 3, next: expect.any(String) })
  expect(durationsOf(first)).toEqual([1, 2, 3])
  const last = await search('limit=1000&page=100')
  expect(last).not.toHaveProperty('next')
  expect(durationsOf(last)).toEqual(from(COUNTED - 999, 1000))
  expect(durationsOf(await search('limit=1000&page=101'))).toEqual(from(COUNTED + 1, 300))
  expect(durationsOf(await search('limit=2&sort=timestamp'))).toEqual([ATTEMPTS, ATTEMPTS - 1])
  const { results } = (await server.call('GET', `${path}/count?distinct=status`)).body
  expect(results).toEqual([{ status: 'success', count: COUNTED }])
})

it.each([
  'status=failure',
  'status_code=503',
  'status_code=500,503',
  'error=ANSWERED',
  'error=answered+503&topic=audits',
])('finds by %s among the newest hundred thousand failures', async (query) => {
  const found = await search(`limit=3&${query}`)
  expect(found).toMatchObject({ total: 1, results: [{ duration_ms: RARE, status_code: 503 }] })
  expect(found).not.toHaveProperty('next')
})

it('finds other values among the newest hundred thousand attempts, and older ones with an end', async () => {
  expect(await search('limit=3&status_code=204')).toMatchObject({ total: 0, results: [] })
  expect((await server.call('GET', `${path}/count?distinct=status_code&topic=audits`)).body.results).toEqual([
    { status_code: '200', count: COUNTED },
  ])
  const older = await search('limit=3&status_code=204&end=-2h')
  expect(older).toMatchObject({ total: 1, results: [{ duration_ms: RARE + 1 }] })
  const all = await search('limit=3&status_code=200,204')
  expect(all).toMatchObject({ total: COUNTED, results: [1, 2, 3].map((ms) => ({ duration_ms: ms })) })
})

it('sorts the newest hundred thousand by another field', async () => {
  const slowest = await search('limit=2&sort=-duration_ms')
  expect(slowest.total).toBe(COUNTED)
  expect(durationsOf(slowest)).toEqual([COUNTED, COUNTED - 1])
})

it('counts exactly where there are fewer', async () => {
  const { body } = await server.call('GET', `${path}/search?limit=1&duration=1h`)
  expect(body.total).toBeGreaterThan(7000)
  expect(body.total).toBeLessThanOrEqual(7200)
})
