import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { webhookTopics } from '../../../src/webhooks/topics.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
let hooks: string
beforeAll(async () => {
  server = await startTestServer()
  hooks = `/orgs/${server.org.orgId}/webhooks`
})
afterAll(() => server.close())

const url = 'http://127.0.0.1:9/hook'

async function create(body: Record<string, unknown> = {}): Promise<{ readonly id: string }> {
  const answer = await server.call('POST', hooks, { body: { url, topics: ['audits'], ...body } })
  expect(answer.status).toBe(200)
  return answer.body
}

describe('ping and the record of deliveries', () => {
  it('queues a ping for a call without a body', async () => {
    const { id } = await create({ enabled: false })
    const headers = { 'content-type': 'application/json' }
    expect(await server.call('POST', `${hooks}/${id}/ping`, { headers, body: '' })).toMatchObject({
      status: 200,
      body: {},
    })
    const rows = await server.ctx.db.selectFrom('webhookPing').select('body').where('webhookId', '=', id).execute()
    expect(rows.map(({ body }) => JSON.parse(String(body)).topic)).toEqual(['ping'])
  })

  it('searches and counts attempts', async () => {
    const { id } = await create()
    const orgId = server.org.orgId
    const now = Date.now()
    for (const [index, status] of (['success', 'failure', 'failure'] as const).entries()) {
      const key = { orgId, id: uuidv7(), createdAt: new Date(now - 1000 * (10 - index)) }
      const failed = status === 'failure'
      await server.ctx.db
        .insertInto('webhookDelivery')
        .values({
          ...key,
          webhookId: id,
          messageId: uuidv7(),
          siteId: null,
          topic: 'audits',
          attempt: 1,
          status,
          statusCode: failed ? (index === 1 ? 500 : null) : 200,
          error: failed ? `failure no. ${index}` : null,
          reqUrl: url,
        })
        .execute()
      const exchange = {
        reqHeaders: '{}',
        reqPayload: `body ${index}`,
        respHeaders: null,
        respBody: failed ? null : 'ok',
      }
      const { orgId: _, id: deliveryId, createdAt } = key
      await server.ctx.db
        .insertInto('webhookBody')
        .values({ orgId, deliveryId, createdAt, ...exchange })
        .execute()
    }
    const search = async (query: string) => (await server.call('GET', `${hooks}/${id}/events/search${query}`)).body
    const all = await search('')
    expect(all).toMatchObject({ total: 3, limit: 100, start: expect.any(Number), end: expect.any(Number) })
    expect(all.results.map((hit: Record<string, unknown>) => hit['req_payload'])).toEqual([
      'body 2',
      'body 1',
      'body 0',
    ])
    expect(all.results[2]).toMatchObject({
      webhook_id: id,
      org_id: orgId,
      status: 'success',
      status_code: 200,
      resp_body: 'ok',
      topic: 'audits',
      req_url: url,
    })
    expect(all.results[0]).not.toHaveProperty('status_code')
    expect((await search('?status=failure&status_code=500')).total).toBe(1)
    expect((await search('?error=NO.%202')).results).toMatchObject([{ error: 'failure no. 2' }])
    expect((await search('?topic=ping')).total).toBe(0)
    expect((await search('?end=-1m&status_code=0')).total).toBe(0)
    const first = await search('?sort=timestamp&limit=2')
    expect(first.results.map((hit: Record<string, unknown>) => hit['req_payload'])).toEqual(['body 0', 'body 1'])
    const next = await server.call('GET', first.next.replace('/api/v1', ''))
    expect(next.body.results).toMatchObject([{ req_payload: 'body 2' }])
    expect(next.body).not.toHaveProperty('next')
    const counted = await server.call('GET', `${hooks}/${id}/events/count?distinct=status`)
    expect(counted.body).toMatchObject({
      distinct: 'status',
      total: 2,
      results: [
        { status: 'failure', count: 2 },
        { status: 'success', count: 1 },
      ],
    })
    const codes = await server.call('GET', `${hooks}/${id}/events/count?distinct=status_code`)
    expect(codes.body.results).toContainEqual({ status_code: '500', count: 1 })
    // Other spellings of a topic find the same as the one in the records.
    expect(await search('?topic=audit')).toMatchObject({ total: (await search('?topic=audits')).total })
    expect((await search('?topic=audit')).total).toBeGreaterThan(0)
    expect(await search('?topic=audit*,zone')).toMatchObject({ total: (await search('?topic=audits')).total })
    // An unknown topic is refused as in a replay.
    const unknown = {
      status: 400,
      body: { detail: expect.stringMatching(/^Invalid field topic: "nope" is not a known/) },
    }
    for (const path of ['events/search?topic=audits,nope', 'events/count?topic=nope'])
      expect(await server.call('GET', `${hooks}/${id}/${path}`)).toMatchObject(unknown)
    expect(await server.call('POST', `${hooks}/${id}/replay`, { body: { topic: 'nope' } })).toMatchObject(unknown)
    expect((await server.call('GET', `${hooks}/${id}/events/search?start=soon`)).status).toBe(400)
  })

  it('counts the newest hundred thousand attempts of a busy webhook', async () => {
    const { id } = await create()
    await sql`insert into webhook_delivery (org_id, id, webhook_id, message_id, topic, attempt, status, req_url, created_at)
      select ${server.org.orgId}, gen_random_uuid(), ${id}, gen_random_uuid(), 'audits', 1,
        case when n = 0 then 'failure' else 'success' end, ${url}, now() - interval '1 hour' + n * interval '1 ms'
      from generate_series(0, 100000) as n`.execute(server.ctx.db)
    const count = async (query: string) =>
      (await server.call('GET', `${hooks}/${id}/events/count?${query}`)).body.results
    expect(await count('distinct=status')).toEqual([{ status: 'success', count: 100_000 }])
    expect(await count('distinct=status&status=failure')).toEqual([{ status: 'failure', count: 1 }])
  })

  it('lists the topics', async () => {
    const { body } = await server.call('GET', '/const/webhook_topics')
    expect(body).toContainEqual({
      key: 'audits',
      wire_name: 'audits',
      aliases: ['audit'],
      for_org: true,
      emitted: true,
      has_delivery_results: true,
      allows_single_event_per_message: true,
      internal: false,
    })
    expect(body).toContainEqual(expect.objectContaining({ key: 'location', emitted: false }))
    expect(body).toContainEqual(
      expect.objectContaining({ key: 'location-asset', wire_name: 'location_asset', aliases: ['location_asset'] }),
    )
    expect(body.map(({ key }: { key: string }) => key)).toEqual(webhookTopics.map(({ key }) => key))
    expect(body.length).toBeGreaterThanOrEqual(30)
  })
})
