import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { AnyJson } from '../support/any-json.ts'
import { type TestServer, startTestServer } from '../support/server.ts'

/** More than are counted. */
const ATTEMPTS = 100_300
const COUNTED = 100_000

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
    insert into webhook_delivery (org_id, id, webhook_id, message_id, topic, attempt, status, status_code, req_url,
      created_at, duration_ms, final)
    select ${server.org.orgId}::uuid, gen_random_uuid(), ${id}::uuid, gen_random_uuid(), 'audits', 1, 'success', 200, 'http://127.0.0.1:9/',
      now() - n * interval '500 ms', n, true
    from generate_series(1, ${ATTEMPTS}::integer) as n
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
