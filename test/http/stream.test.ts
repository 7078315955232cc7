import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { recordCommandsSent } from '../../src/devices/commands/record-commands.ts'
import { endAlarms, raiseAlarms } from '../../src/events/alarms/store.ts'
import { currentAccessPoint } from '../../src/gateway/ucentral/state/samples.ts'
import { inTx } from '../../src/platform/database/db.ts'
import { recordOutcomes } from '../support/fleets/record.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { type MadeDevice, addSite, claimNewDevice, connectDevice, reportState } from '../support/fleets/devices.ts'
import { type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'
import { type StreamClient, openStream } from '../support/peers/stream-client.ts'
import { waitUntil } from '../support/wait-until.ts'

let server: TestServer
let siteId: string
let device: MadeDevice
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())
beforeEach(async () => {
  siteId = await addSite(server)
  device = await claimNewDevice(server, { siteId })
})

const open = ({ token }: TestOrg = server.org): Promise<StreamClient> =>
  openStream(server.url, { authorization: `Token ${token}` })

const isNamed =
  (name: string) =>
  ({ data }: AnyJson): boolean =>
    data?.name === name

type Answerer = (text: string | null) => Promise<string | undefined>

/** Connects the device. Returns a function that answers a command, and resolves with the session in the reply to it. */
async function answerer(verb = 'ping', body: object = { host: '192.0.2.1' }): Promise<Answerer> {
  await connectDevice(server.ctx, device.mac)
  const { nodeId } = await server.ctx.db
    .selectFrom('deviceSession')
    .select('nodeId')
    .where('deviceId', '=', device.id)
    .executeTakeFirstOrThrow()
  return async (text) => {
    const path = `/sites/${siteId}/devices/${device.id}/${verb}`
    const reply = await server.call('POST', path, { body })
    expect(reply.status).toBe(200)
    const sent = await recordCommandsSent(server.ctx, nodeId, { limit: 10, rebooting: [] })
    const outcome = { kind: 'done', text } as const
    await recordOutcomes(
      server.ctx,
      sent.map(({ orgId, id, callId }) => ({ orgId, id, callId, outcome })),
    )
    return reply.body.session
  }
}

/** Resolves with the status of the refusal to open the stream. */
async function refusal(headers: Record<string, string>): Promise<number | undefined> {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/api-ws/v1/stream`, { headers })
  const [, { statusCode }] = await once(socket, 'unexpected-response')
  socket.on('error', () => {})
  socket.terminate()
  return statusCode
}

async function login({ email, password }: TestOrg): Promise<string> {
  const answer = await server.call('POST', '/login', { as: null, body: { email, password } })
  return (answer.headers.get('set-cookie') ?? '').match(/sessionid=[^;]+/)?.[0] ?? ''
}

describe('the stream', () => {
  it('sends changes in the statistics of devices, in the form of the API', async () => {
    const client = await open()
    const channel = `/sites/${siteId}/stats/devices`
    expect(await client.subscribe(channel)).toMatchObject({ event: 'channel_subscribed', channel })
    await connectDevice(server.ctx, device.mac, { firmware: '4.2.0' })
    const told = await client.next(({ data }) => data.version === '4.2.0')
    expect(told).toMatchObject({
      event: 'data',
      channel,
      data: { id: device.id, status: 'connected', version: '4.2.0' },
    })
    const shown = await server.call('GET', `/sites/${siteId}/stats/devices/${device.id}`)
    expect(Object.keys(told.data).toSorted()).toEqual(Object.keys(shown.body).toSorted())
  })

  it('sends the wireless clients of a device with each of its reports', async () => {
    const client = await open()
    const channel = `/sites/${siteId}/stats/clients`
    expect(await client.subscribe(channel)).toMatchObject({ event: 'channel_subscribed', channel })
    const session = await connectDevice(server.ctx, device.mac)
    await reportState(server, session, { state: currentAccessPoint, uptime: 100 })
    const { body } = await server.call('GET', `/sites/${siteId}/stats/clients`)
    expect(body).toHaveLength(3)
    for (const data of body) expect(await client.next()).toMatchObject({ event: 'data', channel, data })
  })

  it('sends changed, moved and unclaimed devices', async () => {
    const other = await addSite(server, 'There')
    const client = await open()
    for (const id of [siteId, other]) await client.subscribe(`/sites/${id}/devices`)
    await server.call('PUT', `/sites/${siteId}/devices/${device.id}`, { body: { name: 'Hall' } })
    expect(await client.next(isNamed('Hall'))).toMatchObject({ channel: `/sites/${siteId}/devices` })
    const inventory = `/orgs/${server.org.orgId}/inventory`
    await server.call('PUT', inventory, { body: { op: 'assign', site_id: other, macs: [device.mac] } })
    const two = [await client.next(), await client.next()]
    expect(two.toSorted((a) => (a.channel.includes(siteId) ? -1 : 1))).toMatchObject([
      { channel: `/sites/${siteId}/devices`, data: { id: device.id, site_id: siteId, deleted: true } },
      { channel: `/sites/${other}/devices`, data: { id: device.id, site_id: other, name: 'Hall' } },
    ])
    await server.call('PUT', inventory, { body: { op: 'delete', macs: [device.mac] } })
    expect(await client.next()).toMatchObject({ channel: `/sites/${other}/devices`, data: { deleted: true } })
  })

  it('sends the answer of a device to a command', async () => {
    const answer = await answerer()
    const channel = `/sites/${siteId}/devices/${device.id}/cmd`
    const client = await open()
    await client.subscribe(channel)
    const session = await answer('1 packets received')
    expect(await client.next()).toMatchObject({ channel, data: { session, raw: '1 packets received' } })
    const later = await open()
    await later.subscribe(channel)
    expect(await later.next()).toMatchObject({ channel, data: { session, raw: '1 packets received' } })
  })

  it.each([
    ['locate', {}, null, 'locate: done'],
    ['unlocate', {}, null, 'unlocate: done'],
    ['support', {}, 'uploaded 12 files', 'uploaded 12 files'],
  ])('reports how the command %s ended', async (verb, body, text, raw) => {
    const answer = await answerer(verb, body)
    const channel = `/sites/${siteId}/devices/${device.id}/cmd`
    const client = await open()
    await client.subscribe(channel)
    const session = await answer(text)
    expect(await client.next(({ data }) => data?.raw === raw)).toMatchObject({
      channel,
      data: { session: session ?? expect.any(String) },
    })
  })

  it('sends edge appliances to the organization and to their site', async () => {
    const orgs = `/orgs/${server.org.orgId}`
    const client = await open()
    const channels = [
      `${orgs}/mxedges`,
      `${orgs}/stats/mxedges`,
      `/sites/${siteId}/mxedges`,
      `/sites/${siteId}/stats/mxedges`,
    ]
    for (const channel of channels)
      expect(await client.subscribe(channel)).toMatchObject({ event: 'channel_subscribed' })
    const told = (channel: string, matches: (data: AnyJson) => boolean) =>
      waitUntil(
        'the expected change',
        () => client.received.find((message) => message.channel === channel && matches(message.data)) ?? null,
      )
    const { body: made } = await server.call('POST', `${orgs}/mxedges`, { body: { name: 'Edge', model: 'ME-X1' } })
    expect(await told(`${orgs}/mxedges`, ({ id }) => id === made.id)).not.toHaveProperty('data.magic')
    await server.call('POST', `${orgs}/mxedges/assign`, { body: { site_id: siteId, mxedge_ids: [made.id] } })
    for (const channel of channels) await told(channel, ({ id, site_id: place }) => id === made.id && place === siteId)
    await server.call('DELETE', `${orgs}/mxedges/${made.id}`)
    for (const channel of [`${orgs}/mxedges`, `/sites/${siteId}/mxedges`])
      await told(channel, ({ id, deleted }) => id === made.id && deleted === true)
  })

  it('sends raised, acknowledged and ended alarms to the organization and to their site', async () => {
    const { orgId } = server.org
    const client = await open()
    const channels = [`/orgs/${orgId}/alarms`, `/sites/${siteId}/alarms`]
    for (const channel of channels) await client.subscribe(channel)
    const told = (channel: string, expected: AnyJson) =>
      waitUntil(
        'the alarm',
        () =>
          client.received.find(
            ({ channel: name, data }) =>
              name === channel && data.status === expected.status && data.acked === expected.acked,
          )?.data ?? null,
      )
    const key = { orgId, type: 'device_down', subject: device.id } as const
    const raised = { ...key, siteId, text: 'Hall is offline', details: { aps: [device.mac] } }
    await inTx(server.ctx, (tx) => raiseAlarms(tx, [raised], new Date()))
    for (const channel of channels) {
      const { id } = await told(channel, { status: 'open', acked: false })
      const { body } = await server.call('GET', `${channel}/search?limit=1000`)
      expect(body.results.find((alarm: AnyJson) => alarm.id === id)).toMatchObject({ text: 'Hall is offline' })
    }
    await server.call('POST', `/sites/${siteId}/alarms/ack_all`, { body: {} })
    for (const channel of channels) await told(channel, { status: 'open', acked: true })
    await server.call('POST', `/sites/${siteId}/alarms/unack`, {
      body: { alarm_ids: [(await told(channels[0] ?? '', { status: 'open', acked: true })).id] },
    })
    await inTx(server.ctx, (tx) => endAlarms(tx, [key], new Date()))
    for (const channel of channels) await told(channel, { status: 'resolved', acked: false })
  })

  it('says each change once, however often a device changes meanwhile', async () => {
    const client = await open()
    const channel = `/sites/${siteId}/devices`
    await client.subscribe(channel)
    await Promise.all(
      ['A', 'B', 'C'].map((name) => server.call('PUT', `/sites/${siteId}/devices/${device.id}`, { body: { name } })),
    )
    await server.call('PUT', `/sites/${siteId}/devices/${device.id}`, { body: { name: 'Last' } })
    const seqs: number[] = []
    for (let name = ''; name !== 'Last';) {
      const { data, seq } = await client.next()
      name = data.name
      seqs.push(seq)
    }
    expect(seqs).toEqual(seqs.map((_, index) => (seqs[0] ?? 0) + index))
  })

  it('sends what a client has missed when it comes back', async () => {
    const channel = `/sites/${siteId}/devices`
    const listening = await open()
    await listening.subscribe(channel)
    const first = await open()
    const { seq } = await first.subscribe(channel)
    first.socket.close()
    await first.closed
    await server.call('PUT', `/sites/${siteId}/devices/${device.id}`, { body: { name: 'Missed' } })
    const missed = await listening.next(isNamed('Missed'))
    const second = await open()
    expect(await second.subscribe(channel, seq)).toMatchObject({ seq: missed.seq, resumed: true })
    expect(await second.next(isNamed('Missed'))).toEqual(missed)
    const third = await open()
    expect(await third.subscribe(channel, 0)).toMatchObject({ resumed: false })
  })

  it('says nothing on a channel after it was unsubscribed', async () => {
    const channel = `/sites/${siteId}/devices`
    const [client, other] = [await open(), await open()]
    for (const each of [client, other]) await each.subscribe(channel)
    client.send({ unsubscribe: channel })
    const { event } = await client.next((message) => message.event !== 'data')
    expect(event).toBe('channel_unsubscribed')
    await server.call('PUT', `/sites/${siteId}/devices/${device.id}`, { body: { name: 'Quiet' } })
    await other.next(isNamed('Quiet'))
    expect(client.received).toEqual([])
  })

  it('answers a ping before earlier requests that wait for the database', async () => {
    const client = await open()
    client.send({ subscribe: `/sites/${siteId}/devices` })
    client.send({ ping: true })
    expect([await client.next(), await client.next()]).toEqual([
      { event: 'pong' },
      expect.objectContaining({ event: 'channel_subscribed' }),
    ])
  })

  it('accepts at most two thousand channels', async () => {
    const client = await open()
    const channels = Array.from({ length: 2001 }, (_, index) => {
      const id = `00000000-0000-0000-1000-${String(index).padStart(12, '0')}`
      return `/sites/${siteId}/devices/${id}/cmd`
    })
    for (const channel of channels) client.send({ subscribe: channel, after: 0 })
    const last = await client.next(({ channel }) => channel === channels.at(-1))
    expect(last).toMatchObject({ event: 'subscribe_failed', detail: 'A connection has at most 2000 channels' })
  })
})

describe('who may hear', () => {
  it('is everyone with the privilege to read the site', async () => {
    const stranger = await server.addOrg()
    const client = await open(stranger)
    const channel = `/sites/${siteId}/devices`
    expect(await client.subscribe(channel)).toMatchObject({
      event: 'subscribe_failed',
      channel,
      detail: expect.any(String),
    })
    expect(await client.subscribe('/sites/x/devices')).toMatchObject({ detail: 'There is no such channel' })
    expect(await client.subscribe(`/sites/${siteId}/unknown`)).toMatchObject({ event: 'subscribe_failed' })
    await server.call('PUT', `/sites/${siteId}/devices/${device.id}`, { body: { name: 'Secret' } })
    const own = await open()
    await own.subscribe(channel)
    await server.call('PUT', `/sites/${siteId}/devices/${device.id}`, { body: { name: 'Later' } })
    await own.next(isNamed('Later'))
    expect(client.received).toEqual([])
  })

  it('is checked again: a lost privilege ends the subscription', async () => {
    const org = await server.addOrg()
    const site = await addSite(server, 'Elsewhere', org)
    const client = await openStream(server.url, { cookie: await login(org) })
    const channel = `/sites/${site}/devices`
    expect(await client.subscribe(channel)).toMatchObject({ event: 'channel_subscribed' })
    await server.ctx.db.deleteFrom('privilege').where('orgId', '=', org.orgId).execute()
    expect(await client.next()).toMatchObject({ event: 'subscribe_failed', channel })
  })

  it('is refused after the credentials have ended', async () => {
    const org = await server.addOrg()
    const cookie = await login(org)
    const client = await openStream(server.url, { cookie })
    await server.ctx.db.deleteFrom('session').execute()
    expect(await client.closed).toBe(1008)
    expect(await refusal({ cookie })).toBe(401)
  })

  it('is refused without a token or a session', async () => {
    expect(await refusal({})).toBe(401)
    expect(await refusal({ authorization: 'Token wrong' })).toBe(401)
    const { email, password } = server.org
    expect(await refusal({ authorization: `Basic ${btoa(`${email}:${password}`)}` })).toBe(401)
  })

  it('is not a page of another origin', async () => {
    const cookie = await login(await server.addOrg())
    expect(await refusal({ cookie, origin: 'https://evil.example.test' })).toBe(403)
    await openStream(server.url, { cookie, origin: server.url })
  })
})

describe('a client that does not keep to the rules', () => {
  it.each([
    ['what is not JSON', 'hello', 1008],
    ['a message without a channel', '{}', 1008],
    ['a message that is too long', JSON.stringify({ subscribe: 'x'.repeat(2000) }), 1009],
  ])('is disconnected after %s', async (_what, text, code) => {
    const client = await open()
    client.send(text)
    expect(await client.closed).toBe(code)
  })

  it('that does not read gets a request to resume before more than a megabyte waits for it', async () => {
    const answer = await answerer()
    const peak = watchBuffer()
    const client = await open()
    const channel = `/sites/${siteId}/devices/${device.id}/cmd`
    await client.subscribe(channel)
    client.socket.pause()
    const heard = new Set<number>()
    client.socket.on('message', (data: Buffer) => heard.add(JSON.parse(data.toString('utf8')).seq))
    // The kernel takes some megabytes before anything waits.
    for (let round = 0; round < 80; round += 1) await answer('x'.repeat(200_000))
    client.socket.resume()
    expect(await client.closed).toBe(1013)
    // It has waited for the client, and the bound holds with the headers of the frames.
    expect(peak.bytes).toBeGreaterThan(700_000)
    expect(peak.bytes).toBeLessThanOrEqual(1024 * 1024 + 100)
    const again = await open()
    expect(await again.subscribe(channel, Math.max(...heard))).toMatchObject({ resumed: false })
    await answer('the last one')
    await again.next(({ data }) => data?.raw === 'the last one')
  })

  /** Measures the most that has waited to be sent on the next connection to the server. */
  function watchBuffer(): { readonly bytes: number } {
    const peak = { bytes: 0 }
    server.http.server.once('connection', (socket: Socket) => {
      const write = socket.write.bind(socket) as (...args: readonly unknown[]) => boolean
      socket.write = (...args: readonly unknown[]) => {
        const isFree = write(...args)
        peak.bytes = Math.max(peak.bytes, socket.writableLength)
        return isFree
      }
    })
    return peak
  }
})

describe('a connection that is not opened', () => {
  /** Asks for the stream by a connection that the server alone ends. @returns The two sockets. */
  async function ask(token: string): Promise<{ readonly client: Socket; readonly served: Socket }> {
    const { hostname, port } = new URL(server.url)
    const client = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    onTestFinished(() => void client.destroy())
    const upgraded = once(server.http.server, 'upgrade')
    const headers = ['Host: x', 'Connection: Upgrade', 'Upgrade: websocket', `Authorization: Token ${token}`]
    client.write(['GET /api-ws/v1/stream HTTP/1.1', ...headers, '', ''].join('\r\n'))
    const [, served] = await upgraded
    return { client, served }
  }

  // Anything else would listen to the errors of the socket, for which the service has to listen itself.
  const untilClosed = (socket: Socket) => waitUntil('the connection is closed', () => socket.closed)

  it('disturbs nothing if the client resets it before it is authenticated', async () => {
    const { client, served } = await ask(server.org.token)
    client.resetAndDestroy()
    await untilClosed(served)
    await open()
  })

  it('is closed after the refusal even if the client keeps it open', async () => {
    const { client, served } = await ask('wrong')
    const [answer] = await once(client, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1.1 401 /)
    await untilClosed(served)
  })
})

it('answers an ordinary request with the reason', async () => {
  const answer = await fetch(`${server.url}/api-ws/v1/stream`)
  expect(answer.status).toBe(400)
  expect(await answer.json()).toEqual({ detail: 'This path serves only WebSocket connections' })
})

it('leaves requests that offer another protocol alone', async () => {
  const { port } = new URL(server.url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.write('GET /api/v1/const/device_models HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: h2c\r\n\r\n')
  const [data] = await once(socket, 'data')
  socket.destroy()
  expect(String(data)).toMatch(/^HTTP\/1.1 401 /)
})
