import { Value } from 'typebox/value'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { watchAlarms } from '../../src/app/alarm-watch.ts'
import { systemScope } from '../../src/access/scope.ts'
import { appendSystemEvent } from '../../src/events/append-system.ts'
import { alarms } from '../../src/events/alarms/alarm-types.ts'
import { alarmOfCondition, alarmOfEvent, conditionEnds } from '../../src/events/system-event-types.ts'
import { topics } from '../../src/events/topics.ts'
import { updateConditions } from '../../src/events/store-system.ts'
import { inTx } from '../../src/platform/database/db.ts'
import { recordEnds } from '../support/fleets/record.ts'
import { type AnyJson } from '../support/contract/any-json.ts'
import { type MadeDevice, addSite, claimNewDevices, connectDevice } from '../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'
import { listenTo } from '../support/peers/webhooks.ts'
import { keysOf } from '../../src/platform/records.ts'

let clock: TestClock
let server: TestServer
let siteId: string
let devices: MadeDevice[]
beforeAll(async () => {
  clock = createTestClock()
  server = await startTestServer(clock)
  await listenTo(server, 'alarms')
  siteId = await addSite(server)
  devices = await claimNewDevices(server, 4, { siteId })
})
afterAll(() => server.close())

const org = () => `/orgs/${server.org.orgId}`
async function search(query: string, place = org(), duration = '30d'): Promise<AnyJson[]> {
  const { status, body } = await server.call('GET', `${place}/alarms/search?duration=${duration}&${query}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body.results
}
async function act(path: string, body?: object, place = org()): Promise<void> {
  const answer = await server.call('POST', `${place}/alarms/${path}`, { body })
  expect([answer.status, answer.body]).toEqual([200, {}])
}
/** Removes and returns the events of alarms that wait for webhooks. */
async function takeEvents(): Promise<AnyJson[]> {
  const rows = await server.ctx.db
    .deleteFrom('webhookOutbox')
    .where('topic', '=', 'alarms')
    .returning('event')
    .execute()
  return rows.map(({ event }) => event)
}
const device = (index: number): MadeDevice => {
  const found = devices[index]
  if (found === undefined) throw new Error(`no device ${index}`)
  return found
}
const connect = (index: number) => connectDevice(server.ctx, device(index).mac)
async function drop(index: number): Promise<void> {
  const session = await connect(index)
  await recordEnds(server.ctx, [session])
}
/** Makes the commands of a device those of its session that the device has agreed to. */
async function endCommands(deviceId: string): Promise<void> {
  await server.ctx.db
    .updateTable('deviceCommand')
    .set((eb) => ({
      state: 'done',
      sentAt: clock.now(),
      finishedAt: clock.now(),
      epoch: eb.selectFrom('deviceSession').select('epoch').where('deviceId', '=', deviceId),
    }))
    .where('deviceId', '=', deviceId)
    .execute()
}
async function watch(): Promise<void> {
  clock.advance(1000)
  await watchAlarms(server.ctx)
}

describe('a device that is offline', () => {
  it('has an alarm until it is back, which counts its outages', async () => {
    await watch()
    // The devices have never connected, so they are not missed.
    expect(await search('')).toEqual([])
    await drop(0)
    await watch()
    await watch()
    const [alarm, ...others] = await search('type=device_down')
    expect(others).toEqual([])
    expect(alarm).toEqual({
      id: expect.any(String),
      org_id: server.org.orgId,
      site_id: siteId,
      type: 'device_down',
      group: 'infrastructure',
      severity: 'warn',
      status: 'open',
      timestamp: expect.any(Number),
      last_seen: expect.any(Number),
      count: 1,
      text: `${device(0).mac} is offline`,
      acked: false,
      aps: [device(0).mac],
      hostnames: [device(0).mac],
    })
    const { acked: _acked, status: _status, ...event } = alarm
    expect(await takeEvents()).toEqual([{ ...event, site_name: 'Here', for_site: true, update: false }])

    await connect(0)
    await watch()
    const [ended] = await search('status=resolved')
    expect(ended).toMatchObject({ id: alarm.id, count: 1, resolved_time: expect.any(Number) })
    expect(ended.resolved_time).toSatisfy(Number.isInteger)
    expect(await takeEvents()).toMatchObject([
      { id: alarm.id, site_name: 'Here', update: true, resolved_time: ended.resolved_time },
    ])

    await drop(0)
    await watch()
    expect(await search('')).toMatchObject([{ id: alarm.id, status: 'open', count: 2 }])
    expect(await takeEvents()).toMatchObject([{ id: alarm.id, update: true, count: 2 }])

    await connect(0)
    await watch()
    clock.advance(2 * 3600e3)
    await watch()
    await drop(0)
    await watch()
    expect(await search('sort=timestamp')).toMatchObject([
      { id: alarm.id, status: 'resolved', count: 2 },
      { status: 'open', count: 1 },
    ])
    await connect(0)
    await watch()
    await takeEvents()
  })

  it('has none before the threshold of its site', async () => {
    const setting = { device_updown_threshold: 5 }
    expect((await server.call('PUT', `/sites/${siteId}/setting`, { body: setting })).status).toBe(200)
    await drop(1)
    await watch()
    expect(await search(`status=open`)).toEqual([])
    // The announcement of the outage deletes this row when the threshold has passed.
    await server.ctx.db.deleteFrom('deviceOutage').execute()
    await watch()
    expect(await search(`status=open`)).toMatchObject([{ aps: [device(1).mac] }])
    expect(
      (await server.call('PUT', `/sites/${siteId}/setting`, { body: { device_updown_threshold: 0 } })).status,
    ).toBe(200)
  })

  it('has none while somebody restarts it, unless it stays away', async () => {
    const session = await connect(2)
    const { id } = device(2)
    expect((await server.call('POST', `/sites/${siteId}/devices/${id}/restart`)).status).toBe(200)
    await endCommands(id)
    await recordEnds(server.ctx, [session])
    await watch()
    const openOf = async (mac: string) => (await search('status=open')).filter(({ aps }) => aps?.includes(mac))
    expect(await openOf(device(2).mac)).toEqual([])
    clock.advance(16 * 60_000)
    await watch()
    expect(await openOf(device(2).mac)).toHaveLength(1)
  })

  it('has one if it has returned from a restart, and is lost again', async () => {
    const { id, mac } = device(0)
    const session = await connect(0)
    expect((await server.call('POST', `/sites/${siteId}/devices/${id}/restart`)).status).toBe(200)
    await endCommands(id)
    await recordEnds(server.ctx, [session])
    await watch()
    const openOf = async () => (await search('status=open')).filter(({ aps }) => aps?.includes(mac))
    expect(await openOf()).toEqual([])
    await drop(0)
    await watch()
    expect(await openOf()).toHaveLength(1)
    await connect(0)
    await watch()
    await takeEvents()
  })

  it('has it at the site that it is moved to, and none at the former one', async () => {
    const { mac } = device(0)
    await drop(0)
    await watch()
    await takeEvents()
    const there = await addSite(server, 'There')
    const move = async (to: string) => {
      const body = { op: 'assign', site_id: to, macs: [mac] }
      expect((await server.call('PUT', `${org()}/inventory`, { body })).status).toBe(200)
      await watch()
      await watch()
    }
    const openHere = async () =>
      (await search('status=open', `/sites/${siteId}`)).filter(({ aps }) => aps?.includes(mac))
    expect(await openHere()).toHaveLength(1)
    await move(there)
    expect(await openHere()).toEqual([])
    expect(await search('status=open', `/sites/${there}`)).toMatchObject([{ aps: [mac], site_id: there }])
    const [ended, again] = await takeEvents()
    expect(ended).toMatchObject({ site_id: siteId, resolved_time: expect.any(Number) })
    expect(again).toMatchObject({ id: ended.id, site_id: there, update: true })
    await move(siteId)
    await connect(0)
    await watch()
    await takeEvents()
  })

  it('has none any more when its organization has given it up', async () => {
    const { mac } = device(2)
    const body = { op: 'delete', macs: [mac] }
    expect((await server.call('PUT', `${org()}/inventory`, { body })).status).toBe(200)
    await watch()
    expect((await search('status=open')).filter(({ aps }) => aps?.includes(mac))).toEqual([])
  })
})

describe('conditions and events of the service', () => {
  const condition = () => ({
    orgId: server.org.orgId,
    subject: '0193a1c0-0000-7000-8000-00000000000a',
    siteId: null,
    text: 'The receiver of webhook "Alerts" has not taken messages for an hour',
    endedText: 'It works again',
  })

  it.each(keysOf(conditionEnds))(
    'open the alarm of %s while it lasts, count it, and send each change',
    async (type) => {
      await takeEvents()
      const begin = { ...condition(), type, subject: `${condition().subject} ${type}` }
      const alarmType = alarmOfCondition(type)
      const { group, severity } = alarms[alarmType]
      const update = (conditions: readonly (typeof begin)[]) =>
        inTx(server.ctx, (tx) => updateConditions(tx, conditions, clock.now()))
      await update([begin])
      await update([begin])
      const [alarm] = await search(`type=${alarmType}&status=open`)
      expect(alarm).toMatchObject({ count: 1, group, severity, text: begin.text, acked: false })
      await update([])
      expect(await search(`type=${alarmType}&status=open`)).toEqual([])
      await update([begin])
      await act(`${alarm.id}/ack`)
      expect(await search(`type=${alarmType}&status=open`)).toMatchObject([{ id: alarm.id, count: 2, acked: true }])
      await update([])
      const sent = await takeEvents()
      expect(sent.map(({ id, count, resolved_time: end }) => [id, count, end !== undefined])).toEqual([
        [alarm.id, 1, false],
        [alarm.id, 1, true],
        [alarm.id, 2, false],
        [alarm.id, 2, true],
      ])
      for (const event of sent) expect([...Value.Errors(topics.alarms.event, event)]).toEqual([])
    },
  )

  it.each([
    ['WEBHOOK_DISABLED', { webhook_id: '0193a1c0-0000-7000-8000-00000000000b' }],
    ['WEBHOOK_MESSAGES_DROPPED', { webhook_id: '0193a1c0-0000-7000-8000-00000000000c' }],
    ['DEVICE_CERTIFICATE_CLONED', { mac: '020000000099', device_type: 'ap' }],
  ] as const)('raise the alarm of %s, which ends when somebody acknowledges it', async (type, details) => {
    await takeEvents()
    const alarmType = alarmOfEvent(type)
    const input = { type, text: 'It has happened', details }
    const append = () =>
      inTx(server.ctx, (tx) => appendSystemEvent(tx, systemScope('webhooks', server.org.orgId), input, clock.now()))
    await append()
    await append()
    const [alarm] = await search(`type=${alarmType}`)
    expect(alarm).toMatchObject({ status: 'open', count: 2 })
    clock.advance(2 * 24 * 3600e3)
    await act(`${alarm.id}/ack`, { note: 'I look' })
    // It was open until now, so also within the last day.
    const resolved = await search(`type=${alarmType}`, org(), '1d')
    expect(resolved).toMatchObject([{ status: 'resolved', acked: true, note: 'I look' }])
    await append()
    expect(await search(`type=${alarmType}&status=open`)).toMatchObject([{ count: 1 }])
    const [begun, counted, ended, next] = await takeEvents()
    expect([begun, counted]).toMatchObject([{ update: false }, { count: 2, update: true }])
    expect(ended).toMatchObject({ id: alarm.id, count: 2, update: true, resolved_time: resolved[0].resolved_time })
    expect(next).toMatchObject({ count: 1, update: false })
    expect([...Value.Errors(topics.alarms.event, ended)]).toEqual([])
  })

  it('are open again once an acknowledgment that ended their alarm is withdrawn', async () => {
    const [alarm] = await search('type=webhook_disabled&status=open')
    await act(`${alarm.id}/ack`)
    await takeEvents()
    await act(`${alarm.id}/unack`)
    expect(await search('type=webhook_disabled&status=open')).toMatchObject([{ id: alarm.id }])
    const [again, ...others] = await takeEvents()
    expect([again, others]).toMatchObject([{ id: alarm.id, count: 1, update: true }, []])
    expect(again).not.toHaveProperty('resolved_time')
  })
})

describe('an acknowledgment', () => {
  it('is taken from one, some or all alarms, and taken back', async () => {
    await drop(3)
    await watch()
    const [alarm] = await search('type=device_down&status=open&sort=-timestamp')
    await act(`${alarm.id}/ack`, { note: 'on my way' })
    const [acked] = await search('acked=true&type=device_down')
    expect(acked).toMatchObject({ id: alarm.id, status: 'open', note: 'on my way', ack_admin_id: expect.any(String) })
    expect(acked.acked_time).toSatisfy(Number.isInteger)
    await act(`${alarm.id}/ack`)
    await act('ack_all', { note: 'of all' })
    expect(await search('acked=true&type=device_down')).toContainEqual(acked)
    await act(`${alarm.id}/ack`, { note: 'found the cable' })
    const noted = (await search('acked=true&type=device_down')).find(({ id }) => id === alarm.id)
    expect(noted).toMatchObject({ note: 'found the cable', status: 'open' })
    await act('unack_all')
    await act(`${alarm.id}/ack`)
    await act('unack', { alarm_ids: [alarm.id] })
    expect(await search('acked=true&type=device_down')).toEqual([])
    await act('ack', { alarm_ids: [alarm.id] }, `/sites/${siteId}`)
    expect(await search('acked=true&type=device_down', `/sites/${siteId}`)).toMatchObject([{ id: alarm.id }])
    await act(`${alarm.id}/unack`, { note: 'not mine' })
    await act('ack_all', { note: 'all' })
    expect(await search('acked=false')).toEqual([])
    await act('unack_all', { note: 'too early' })
    expect(await search('acked=true')).toEqual([])
    const log = (await server.call('GET', `${org()}/logs?message=Unacknowledge*&sort=timestamp`)).body.results
    expect(log.map(({ after }: AnyJson) => after?.note)).toEqual([
      undefined,
      undefined,
      undefined,
      'not mine',
      'too early',
    ])
    const { body } = await server.call('GET', `${org()}/logs?message=*acknowledge*`)
    expect(body.results.length).toBeGreaterThan(4)
  })

  it('is refused for an alarm of another place, with a name, and changes nothing', async () => {
    const elsewhere = await addSite(server, 'Elsewhere')
    const [alarm] = await search('type=device_down&status=open')
    const of = `/sites/${elsewhere}/alarms`
    expect((await server.call('POST', `${of}/${alarm.id}/ack`)).status).toBe(404)
    const wrong = await server.call('POST', `${org()}/alarms/ack`, { body: { alarm_ids: [alarm.id, 'x'] } })
    expect([wrong.status, wrong.body.detail]).toEqual([400, expect.stringContaining('alarm_ids')])
    expect(await search('acked=true')).toEqual([])
  })
})

it('the search of a site has its alarms alone, and counts agree', async () => {
  expect((await search('', `/sites/${siteId}`)).every(({ site_id }) => site_id === siteId)).toBe(true)
  const { body } = await server.call('GET', `${org()}/alarms/count?distinct=type&duration=30d`)
  const all = await search('')
  const expected = Object.entries(Object.groupBy(all, ({ type }) => type)).map(([type, rows]) => ({
    type,
    count: rows?.length,
  }))
  expect(body.results).toEqual(expect.arrayContaining(expected))
})

it('the groups that only clients use are accepted and match no alarm', async () => {
  for (const group of ['certificate_expiry', 'marvis'])
    expect(await search(`group=${group}`, `/sites/${siteId}`), group).toEqual([])
  expect((await search('group=marvis,infrastructure')).length).toBe((await search('group=infrastructure')).length)
})

it('every type is listed with an example', async () => {
  const { body } = await server.call('GET', '/const/alarm_defs')
  expect(body.map(({ key }: AnyJson) => key)).toEqual(Object.keys(alarms))
  expect(body[0]).toEqual({
    key: 'device_down',
    display: 'Device offline',
    group: 'infrastructure',
    severity: 'warn',
    fields: ['aps', 'switches', 'gateways', 'hostnames'],
    example: expect.objectContaining({ type: 'device_down', text: 'Hall is offline' }),
  })
})
