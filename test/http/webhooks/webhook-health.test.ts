import { uuidv7 } from 'uuidv7'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
let id: string
let path: string
beforeAll(async () => {
  server = await startTestServer()
  const hooks = `/orgs/${server.org.orgId}/webhooks`
  // It has no topic, so only what the tests insert is delivered.
  const { body } = await server.call('POST', hooks, { body: { url: 'http://127.0.0.1:9/hook', topics: [] } })
  id = body.id
  path = `${hooks}/${id}`
})
afterAll(() => server.close())

async function addAttempt(durationMs: number, error: string | null, topic = 'audits'): Promise<void> {
  const { orgId } = server.org
  const common = { orgId, id: uuidv7(), webhookId: id, messageId: uuidv7(), siteId: null, topic, attempt: 1 }
  const status = error === null ? ('success' as const) : ('failure' as const)
  const result = { status, statusCode: null, error, reqUrl: 'http://127.0.0.1:9/hook', final: true, nextAttempt: null }
  await server.ctx.db
    .insertInto('webhookDelivery')
    .values({ ...common, ...result, durationMs, createdAt: server.ctx.clock.now() })
    .execute()
}

async function park(): Promise<string> {
  const [messageId, at] = [uuidv7(), server.ctx.clock.now()]
  const row = { orgId: server.org.orgId, id: messageId, webhookId: id, topic: 'audits', body: Buffer.from('{}') }
  await server.ctx.db
    .insertInto('webhookParkedMessage')
    .values({ ...row, eventCount: 2, attempt: 12, reason: 'exhausted', createdAt: at, parkedAt: at })
    .execute()
  return messageId
}

it('shows the state of a webhook with the reason, what waits, and how the last attempts went', async () => {
  expect(await server.call('GET', `${path}/health`)).toMatchObject({
    status: 200,
    body: {
      state: 'idle',
      reason: 'The webhook has no topics, so it never gets a message except test messages',
      pending: 0,
      parked: 0,
      breaker: { open: false, failures: 0 },
      last_hour: { attempts: 0 },
    },
  })
  await server.call('PUT', path, { body: { topics: ['nac_events', 'ping'] } })
  expect((await server.call('GET', `${path}/health`)).body).toMatchObject({
    state: 'idle',
    reason: 'None of its topics is sent yet, so the webhook never gets a message except test messages',
  })
  await server.call('PUT', path, { body: { topics: ['nac_events', 'alarms'] } })
  expect((await server.call('GET', `${path}/health`)).body).toMatchObject({ state: 'healthy' })
  for (let ms = 1; ms <= 9; ms += 1) await addAttempt(ms, null)
  await addAttempt(5000, 'answered 503')
  await server.ctx.db.updateTable('webhookLane').set({ failures: 2 }).where('webhookId', '=', id).execute()
  expect((await server.call('GET', `${path}/health`)).body).toMatchObject({
    state: 'failing',
    reason: 'The last 2 attempts failed, and 0 messages wait: answered 503',
    breaker: { open: false, failures: 2 },
    last_hour: { attempts: 10, success_rate: 0.9, p50_ms: 5, p99_ms: 9 },
  })
})

it('does not call a pause that the receiver has requested an open breaker', async () => {
  const until = Math.floor(server.ctx.clock.now().getTime() / 1000) + 600
  const pause = async (failures: number) => {
    const lane = server.ctx.db.updateTable('webhookLane').where('webhookId', '=', id)
    await lane.set({ failures, openUntil: new Date(until * 1000) }).execute()
    return (await server.call('GET', `${path}/health`)).body
  }
  const paused = { state: 'paused', breaker: { open: false, failures: 0, open_until: until } }
  expect(await pause(0)).toMatchObject(paused)
  expect(await pause(5)).toMatchObject({ ...paused, breaker: { open: true, failures: 5, open_until: until } })
  await server.ctx.db
    .updateTable('webhookLane')
    .set({ failures: 0, openUntil: null })
    .where('webhookId', '=', id)
    .execute()
})

it('shows since when and why a webhook is disabled', async () => {
  const health = async () => (await server.call('GET', `${path}/health`)).body
  const at = server.ctx.clock.now().getTime() / 1000
  await server.call('PUT', path, { body: { enabled: false } })
  const disabled = {
    state: 'disabled',
    disabled_reason: 'request',
    reason: 'An administrator has disabled the webhook, and 0 messages wait',
  }
  const first = await health()
  expect(first).toMatchObject({ ...disabled, disabled_time: expect.any(Number) })
  expect(first.disabled_time).toBeGreaterThanOrEqual(at)
  // Another change of a webhook that stays disabled.
  await server.call('PUT', path, { body: { enabled: false, name: 'Off' } })
  expect(await health()).toEqual(first)
  await server.call('PUT', path, { body: { enabled: true, name: '' } })
  expect(Object.keys(await health())).not.toEqual(expect.arrayContaining([expect.stringMatching(/^disabled_/)]))
  const body = { url: 'http://127.0.0.1:9/hook', topics: [], enabled: false }
  const created = (await server.call('POST', `/orgs/${server.org.orgId}/webhooks`, { body })).body.id
  const ofCreated = await server.call('GET', `/orgs/${server.org.orgId}/webhooks/${created}/health`)
  expect(ofCreated.body).toMatchObject({ ...disabled, disabled_time: expect.any(Number) })
})

it('lists the webhooks that somebody has to look at', async () => {
  const { orgId } = server.org
  const hooks = `/orgs/${orgId}/webhooks`
  const add = async (name: string): Promise<string> => {
    const body = { name, url: 'http://127.0.0.1:9/hook', topics: ['zone'], enabled: !name.startsWith('off') }
    // Of a site, so that those of other tests are not in the list.
    return (await server.call('POST', `/sites/${site}/webhooks`, { body })).body.id
  }
  const site = (await server.call('POST', `/orgs/${orgId}/sites`, { body: { name: 'Listed' } })).body.id
  const [failing, dropping, dropped, gone] = [
    await add('failing'),
    await add('drops'),
    await add('fine'),
    await add('off, gone'),
  ]
  await add('off')
  const lanes = server.ctx.db.updateTable('webhookLane')
  const anHourAgo = server.ctx.clock.now().getTime() - 3600e3
  await lanes
    .set({ failures: 7, openUntil: new Date(anHourAgo) })
    .where('webhookId', '=', failing)
    .execute()
  await lanes
    .set({ overflowedAt: new Date(anHourAgo + 60_000) })
    .where('webhookId', '=', dropping)
    .execute()
  await lanes
    .set({ overflowedAt: new Date(anHourAgo - 1) })
    .where('webhookId', '=', dropped)
    .execute()
  await server.ctx.db.updateTable('webhook').set({ disabledWhy: 'gone' }).where('id', '=', gone).execute()
  const namesOf = async (query: string) => {
    const { body, headers } = await server.call('GET', `/sites/${site}/webhooks${query}`)
    return [headers.get('x-page-total'), body.map(({ name }: { name: string }) => name)]
  }
  expect(await namesOf('?failing=true')).toEqual(['3', ['failing', 'drops', 'off, gone']])
  expect(await namesOf('?failing=false')).toEqual(['2', ['fine', 'off']])
  expect(await namesOf('?failing=true&limit=1')).toEqual(['3', ['failing']])
  expect(await namesOf('?name=OFF')).toEqual(['2', ['off, gone', 'off']])
  expect(await namesOf('?name=off&failing=true')).toEqual(['1', ['off, gone']])
  expect((await server.call('GET', `${hooks}?failing=often`)).status).toBe(400)
})

it('says that a large number of waiting messages is exact unless they are being sent', async () => {
  const lanes = server.ctx.db.updateTable('webhookLane').where('webhookId', '=', id)
  const shown = async (set: { readonly pending: number; readonly leaseUntil: Date | null }) => {
    await lanes.set(set).execute()
    const { pending, pending_exact: isExact } = (await server.call('GET', `${path}/health`)).body
    return [pending, isExact]
  }
  const leaseUntil = server.ctx.clock.now()
  expect(await shown({ pending: 1001, leaseUntil })).toEqual([1001, false])
  expect(await shown({ pending: 1001, leaseUntil: null })).toEqual([1001, true])
  // Up to a thousand are counted, and none wait.
  expect(await shown({ pending: 1000, leaseUntil })).toEqual([0, true])
  expect(await shown({ pending: 0, leaseUntil: null })).toEqual([0, true])
})

it('gives the reason of messages that wait, not that of a test message that failed', async () => {
  await server.call('PUT', path, { body: { rate_limit: { messages: 1, per: 'minute' } } })
  const lanes = server.ctx.db.updateTable('webhookLane').where('webhookId', '=', id)
  const openUntil = new Date(server.ctx.clock.now().getTime() + 30_000)
  await lanes.set({ failures: 0, pending: 1001, openUntil }).execute()
  await addAttempt(1, null)
  await addAttempt(1, 'answered 500', 'ping')
  expect((await server.call('GET', `${path}/health`)).body).toMatchObject({
    state: 'paused',
    reason: 'The rate limit delays messages, and 1001 messages wait',
  })
  await server.call('PUT', path, { body: { rate_limit: null } })
  await lanes.set({ pending: 0, openUntil: null }).execute()
})

it('lists parked messages, replays those that match, and refuses what it does not understand', async () => {
  const [first, second] = [await park(), await park()]
  const listed = await server.call('GET', `${path}/parked`)
  expect(listed.body.map((message: { id: string }) => message.id).toSorted()).toEqual([first, second].toSorted())
  expect(listed.body[0]).toMatchObject({
    webhook_id: id,
    topic: 'audits',
    reason: 'exhausted',
    attempts: 12,
    events: 2,
  })
  const replay = (body: Record<string, unknown>) => server.call('POST', `${path}/replay`, { body })
  expect((await replay({ reason: 'lost' })).status).toBe(400)
  expect((await replay({ status: 'failure' })).status).toBe(400)
  expect(await replay({ status: 'delivered', reason: 'expired' })).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('Invalid field reason: ') },
  })
  expect(await replay({ status: 'delivered' })).toMatchObject({ status: 200, body: { replayed: 0 } })
  expect(await replay({ start: 20, end: 10 })).toMatchObject({
    status: 400,
    body: { detail: 'Invalid field start: 20 is after the end, 10' },
  })
  expect(await replay({ start: '-1h', end: '-2h' })).toMatchObject({
    status: 400,
    body: { detail: 'Invalid field start: -1h is after the end, -2h' },
  })
  for (const start of ['soon', -5]) {
    const refused = await replay({ start })
    expect([refused.status, refused.body.detail]).toEqual([
      400,
      expect.stringMatching(/^Invalid field start: .*must be epoch seconds/),
    ])
  }
  expect(await replay({ start: 'now' })).toMatchObject({ status: 200, body: { replayed: 0 } })
  expect(await replay({ end: '-1h' })).toMatchObject({ status: 200, body: { replayed: 0 } })
  expect(await replay({ topic: 'audit-log' })).toMatchObject({
    status: 400,
    body: {
      detail: 'Invalid field topic: "audit-log" is not a known topic: GET /api/v1/const/webhook_topics lists them',
    },
  })
  expect(await replay({ topic: 'alarm' })).toMatchObject({ status: 200, body: { replayed: 0 } })
  // Another spelling by which webhooks subscribe.
  expect(await replay({ topic: 'audit', ids: [first] })).toMatchObject({ status: 200, body: { replayed: 1 } })
  expect(await replay({ start: '-1h', end: 'now' })).toMatchObject({ status: 200, body: { replayed: 1 } })
  expect((await server.call('GET', `${path}/parked`)).body).toEqual([])
  const audits = await server.ctx.db.selectFrom('auditLog').select(['message', 'after']).execute()
  const replayed = audits.filter(({ message }) => message === 'Replay 1 parked message of Webhook ""')
  expect(replayed.map(({ after }) => after)).toEqual([{ webhook_id: id }, { webhook_id: id }])
})
