import { uuidv7 } from 'uuidv7'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { actorScope } from '../../../src/access/scope.ts'
import { type SystemEventInput, appendSystemEvent } from '../../../src/events/append-system.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { addSite } from '../../support/fleets/devices.ts'
import { type TestOrg, type TestServer, startTestServer } from '../../support/servers/server.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'

let clock: TestClock
let server: TestServer
let siteId: string
let other: TestOrg
const device = { mac: '020000000001', device_type: 'ap', apfw: '1.0.0' }

async function append(input: SystemEventInput, of = server.org): Promise<void> {
  clock.advance(1000)
  const scope = actorScope({ adminId: null, name: 'test', srcIp: null, userAgent: null }, of.orgId)
  await inTx(server.ctx, (tx) => appendSystemEvent(tx, scope, input, clock.now()))
}

beforeAll(async () => {
  clock = createTestClock()
  server = await startTestServer(clock)
  siteId = await addSite(server)
  other = await server.addOrg('Other')
  await append({ type: 'DISK_SPACE_LOW', text: 'The disk is nearly full' })
  await append({ type: 'WEBHOOK_MESSAGES_DROPPED', text: '12 messages', details: { count: 12 } })
  await append({ type: 'DEVICE_SENDS_TOO_MUCH', siteId, text: 'Device Hall sends', details: device, once: 'today' })
  await append({ type: 'DEVICE_SENDS_TOO_MUCH', siteId, text: 'Device Hall again', details: device, once: 'today' })
  await append({ type: 'DISK_SPACE_LOW', text: 'of the other one' }, other)
})
afterAll(() => server.close())

const get = async (path: string, as = server.org) => {
  const { status, body } = await server.call('GET', path, { as })
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}
const ofOrg = (path: string) => `/orgs/${server.org.orgId}/events/${path}`
const ofSite = (path: string) => `/sites/${siteId}/events/system/${path}`

describe('what the service reports', () => {
  it('to an organization itself is among its events', async () => {
    const { results, total, limit } = await get(ofOrg('search'))
    expect([total, limit]).toEqual([2, 100])
    expect(results).toEqual([
      {
        id: expect.any(String),
        org_id: server.org.orgId,
        type: 'WEBHOOK_MESSAGES_DROPPED',
        text: '12 messages',
        severity: 'critical',
        timestamp: expect.any(Number),
      },
      expect.objectContaining({ type: 'DISK_SPACE_LOW', text: 'The disk is nearly full' }),
    ])
    expect((await get(ofOrg('search?type=DISK*'))).total).toBe(1)
    expect((await get(ofOrg('search?type=DISK_SPACE_LOW,WEBHOOK_FAILING&sort=timestamp'))).total).toBe(1)
    expect((await get(ofOrg('search?start=0&end=1'))).total).toBe(0)
    const paged = await get(ofOrg('search?limit=1'))
    expect((await server.call('GET', paged.next.replace('/api/v1', ''))).body.results).toMatchObject([
      { type: 'DISK_SPACE_LOW' },
    ])
  })

  it('to an organization and its sites is searched together, each occurrence once', async () => {
    const { results } = await get(ofOrg('system/search?sort=timestamp'))
    expect(
      results.map(({ type, scope, change_cat: category }: Record<string, string>) => [type, scope, category]),
    ).toEqual([
      ['DISK_SPACE_LOW', 'org', 'storage'],
      ['WEBHOOK_MESSAGES_DROPPED', 'org', 'webhook'],
      ['DEVICE_SENDS_TOO_MUCH', 'site', 'device'],
    ])
    expect(results[1]).toMatchObject({ metadata: '{"count": 12}'.replace(' ', ''), count: 12 })
    expect((await get(ofOrg('system/search?scope=site'))).results).toMatchObject([{ site_id: siteId }])
  })

  it('to a site names the device', async () => {
    const { results } = await get(ofSite('search?duration=1d'))
    expect(results).toMatchObject([
      {
        org_id: server.org.orgId,
        site_id: siteId,
        type: 'DEVICE_SENDS_TOO_MUCH',
        text: 'Device Hall sends',
        mac: device.mac,
        ap: device.mac,
        apfw: '1.0.0',
        device_type: 'ap',
      },
    ])
    expect((await get(ofSite('search?type=DISK_SPACE_LOW'))).total).toBe(0)
  })

  it('is counted by a field', async () => {
    expect(await get(ofOrg('system/count'))).toMatchObject({
      distinct: 'type',
      total: 3,
      results: expect.arrayContaining([{ type: 'DISK_SPACE_LOW', count: 1 }]),
    })
    expect((await get(ofOrg('system/count?distinct=severity'))).results).toEqual([
      { severity: 'critical', count: 2 },
      { severity: 'warn', count: 1 },
    ])
    expect((await get(ofOrg('system/count?distinct=site_id'))).results).toEqual([
      { count: 2 },
      { site_id: siteId, count: 1 },
    ])
    expect((await get(ofSite('count'))).results).toEqual([{ type: 'DEVICE_SENDS_TOO_MUCH', count: 1 }])
  })

  it('is refused to be searched by what it does not have', async () => {
    for (const path of [
      ofOrg('search?sort=site_id'),
      ofOrg('system/search?sort=mood'),
      ofOrg('system/search?scope=planet'),
      ofSite('count?distinct=scope'),
      ofSite('search?start=yesterday'),
      ofSite('search?port_id=1'),
    ])
      expect((await server.call('GET', path)).status, path).toBe(400)
  })

  it('is sent to no other organization', async () => {
    const { results } = await get(`/orgs/${other.orgId}/events/system/search`, other)
    expect(results).toMatchObject([{ text: 'of the other one' }])
    expect((await server.call('GET', ofOrg('search'), { as: other })).status).toBe(404)
    expect((await server.call('GET', ofSite('search'), { as: other })).status).toBe(404)
    await append({ type: 'DISK_SPACE_LOW', text: 'nobody' }, { ...other, orgId: uuidv7() })
    expect((await get(ofOrg('system/search'))).total).toBe(3)
  })

  it('is identified by the listed types', async () => {
    const types = await get('/const/system_events')
    expect(types).toHaveLength(23)
    for (const { key, example } of types) expect(example).toMatchObject({ type: key, text: expect.any(String) })
    expect(types).toContainEqual({
      key: 'WEBHOOK_FAILING',
      display: 'Webhook fails',
      description: expect.any(String),
      example: expect.objectContaining({ severity: 'warn', change_cat: 'webhook' }),
    })
  })
})
